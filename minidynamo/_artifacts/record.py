"""Records what AOTAutograd and Inductor make of a graph, as they make it.

A graph without gradients is complete when it is compiled. One that the program may differentiate is complete when its backward
has been compiled too, which happens at the first backward pass, or at once where sizes may differ.
"""

import functools
import pickle
from collections.abc import Callable, Sequence
from typing import Any, cast

import torch

from minidynamo._artifacts import generated_module
from minidynamo._artifacts.generated_module import NotKept
from minidynamo._artifacts.runtime import Backward, Boxed, Convention, Mutation, Output, Tangent, boxed_callable_of
from minidynamo._capture.conditions import Condition

_KINDS = {
    "non_alias": "value",
    "unsafe_view_alias": "value",
    "custom_function_view": "value",
    "is_input": "input",
    "alias_of_input": "view_of_input",
    "alias_of_intermediate": "view_of_output",
    "alias_of_intermediate_save_as_output": "view_of_output",
    "alias_of_intermediate_base_is_user_output": "view_of_output",
}


class Recorder:
    """Stands between AOTAutograd and Inductor while one graph is compiled.

    Args:
        shares_memory: whether inputs share memory, for which AOTAutograd has wrappers of its own where one is written to.
        complete: gets the entry and its libraries.
        refuse: gets the reason if there is nothing to keep.
        when_built: calls a function when the kernels that have been compiled so far are there.
    """

    def __init__(
        self,
        shares_memory: bool,
        complete: Callable[[dict[str, Any], dict[str, bytes]], None],
        refuse: Callable[[str], None],
        when_built: Callable[[Callable[[], None]], None],
    ) -> None:
        self._shares_memory = shares_memory
        self._complete, self._refuse = complete, refuse
        self._forward: Any = None
        self._is_inference = False
        self._metadata: Any = None
        self._conditions: list[Condition] = []
        self._strides: list[Condition] = []
        self._backward: tuple[Any, Sequence[Any]] | None = None  # the compiled graph, if any, and its results
        self._without_autocast = torch._C._is_any_autocast_enabled()
        self._is_over = False
        self._built = when_built
        self._runnable: Boxed | None = None

    def function(self, compiled: Boxed) -> Boxed:
        """The function that AOTAutograd made of the graph, or, as soon as its backward graph is there, the same with less around it."""
        current = compiled

        def call(inputs: list[Any]) -> Any:
            nonlocal current
            if current is compiled and self._runnable is not None:
                current = self._runnable
            return current(inputs)

        if self._runnable is not None:
            return self._runnable
        return compiled if self._is_over else call

    def around(self, compile_part: Callable[..., Any]) -> Callable[..., Any]:
        """Inductor's function that compiles a forward or a backward graph, with a record of what it makes."""

        def compile_and_record(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], *args: Any, **settings: Any) -> Any:
            results = cast(Sequence[Any], graph_module.graph.output_node().args[0])
            compiled = compile_part(graph_module, example_inputs, *args, **settings)
            if settings.get("is_backward"):
                self._backward = compiled, results
                self._end_if_complete()
            elif self._forward is not None:
                self._give_up("the graph was compiled in several parts")
            else:
                self._forward, self._is_inference = compiled, bool(settings.get("is_inference"))
            return compiled

        return compile_and_record

    def forward_done(self, metadata: Any, conditions: list[Condition], strides: list[Condition] | None) -> None:
        """AOTAutograd has returned.

        Args:
            metadata: what it knows of the graph (its ViewAndMutationMeta).
            conditions: on sizes that may differ.
            strides: conditions on strides beside such sizes; None if there is no form for them.
        """
        self._metadata, self._conditions = metadata, conditions
        if self._is_inference:
            self._backward = None, ()
        if strides is None:
            self._give_up("strides of an input do not follow from its sizes")
            return
        if strides and self._backward is None:
            self._give_up("the backward of a graph with dynamic sizes is compiled later")
            return
        self._strides = strides
        self._end_if_complete()

    def _end_if_complete(self) -> None:
        if self._metadata is not None and self._backward is not None:
            self._built(functools.partial(self._end, *self._backward))

    def _give_up(self, reason: str) -> None:
        if not self._is_over:
            self._is_over = True
            self._refuse(reason)

    def _end(self, backward: Any, gradients: Any) -> None:
        if self._is_over:
            return
        try:
            entry, libraries = self._entry(backward, gradients)
        except NotKept as reason:
            self._give_up(str(reason))
        except Exception as error:  # torch is not as it is known here: without artifacts it goes on as it did
            self._give_up(f"{type(error).__name__}: {error}")
        else:
            self._is_over = True
            self._complete(entry, libraries)
        self._forward = self._backward = None

    def _entry(self, backward: Any, gradients: Any) -> tuple[dict[str, Any], dict[str, bytes]]:
        if self._forward is None or self._metadata is None:
            raise NotKept("AOTAutograd compiled no forward graph")
        convention = _convention(self._metadata, self._without_autocast, self._shares_memory)
        if backward is not None:
            convention["backward"] = _backward(self._metadata, gradients)
        self._runnable = boxed_callable_of(convention, _generated(self._forward), None if backward is None else _generated(backward))
        modules: list[Any] = []
        libraries: dict[str, bytes] = {}
        for compiled in (self._forward, backward):
            if compiled is not None:
                module, its_libraries = generated_module.taken_apart(compiled, bool(self._strides))
                modules.append(module)
                libraries |= its_libraries
        return {"convention": convention, "conditions": self._conditions, "strides": self._strides, "modules": modules}, libraries


def _generated(compiled: Any) -> Boxed:
    """The function that Inductor has generated, without what its object does around each call."""
    function: Boxed = getattr(compiled, "current_callable", None) or compiled
    return function


def _convention(metadata: Any, without_autocast: bool, shares_memory: bool) -> Convention:
    unknown = {
        "effect tokens": metadata.tokens or metadata.num_backward_tokens,
        "a random state": metadata.is_rng_op_functionalized or metadata.num_graphsafe_rng_states,
        "objects for the backward": metadata.num_opaque_objects_saved_for_bw,
        "streams": any(stream is not None for stream in metadata.mutated_inp_stream_indices or ()),
        "collectives' tensors": metadata.act_input_paths if hasattr(metadata, "act_input_paths") else metadata.act_input_indices,
        "subclasses of tensors": any(
            type(meta).__name__ != "PlainTensorMeta" for meta in (*metadata.subclass_inp_meta, *metadata.subclass_fw_graph_out_meta)
        ),
        "inputs that share memory, of which one is written to": shares_memory
        and any(info.mutates_data or info.mutates_metadata for info in metadata.input_info),
    }
    for what, is_there in unknown.items():
        if is_there:
            raise NotKept(f"the graph has {what}")
    return Convention(
        mutations=[_mutation(index, metadata.input_info[index]) for index in metadata.mutated_inp_runtime_indices],
        outputs=[_output(info, len(metadata.output_info)) for info in metadata.output_info],
        bases=metadata.num_intermediate_bases,
        counted=tuple(metadata.mutated_graph_handled_indices_seen_by_autograd) if metadata.keep_input_mutations else (),
        grad_mode=metadata.grad_enabled_mutation,
        without_autocast=without_autocast,
        backward=None,
    )


def _mutation(index: int, info: Any) -> Mutation:
    if info.mutates_storage_metadata:
        how = "storage"
    elif info.mutates_metadata:
        how = "both" if info.mutates_data else "layout"
    else:
        how = "data"
    return Mutation(input=index, how=how, is_leaf=info.is_leaf)


def _output(info: Any, count: int) -> Output:
    if not issubclass(info.raw_type, torch.Tensor):
        raise NotKept("a result is no tensor")
    name = info.output_type.name
    is_appended = name in ("alias_of_intermediate", "alias_of_intermediate_save_as_output")
    base = -1 if info.base_idx is None else info.base_idx + (count if is_appended else 0)
    sequence = [] if info.view_meta_sequence is None else list(info.view_meta_sequence.sequence)
    if any(view.has_symbolic_inputs for view in sequence):
        raise NotKept("a result is a view whose sizes may differ")
    views = pickle.dumps(sequence) if sequence else b""
    return Output(kind=_KINDS[name], base=base, requires_grad=info.requires_grad, views=views)


def _backward(metadata: Any, gradients: Sequence[Any]) -> Backward:
    if metadata.indices_of_inputs_that_requires_grad_with_mutations_in_bw:
        raise NotKept("the backward writes to inputs")
    first = metadata.num_mutated_inp_runtime_indices
    count = metadata.num_outputs
    written = [metadata.input_info[index] for index in metadata.mutated_inp_runtime_indices]
    positions = [i for i, info in enumerate(written) if info.mutates_data and info.requires_grad]
    positions += [
        first + i
        for i, info in enumerate(metadata.output_info)
        if _KINDS[info.output_type.name] == "value" and info.requires_grad_for_backward
    ]
    positions += range(first + count, first + count + metadata.num_intermediate_bases)
    layouts = metadata.subclass_tangent_meta
    if len(layouts) != len(positions) or len(gradients) != len(metadata.input_info):
        raise NotKept("the backward graph is not called as it is known here")
    return Backward(
        detached=tuple(
            i
            for i, (gradient, info) in enumerate(zip(gradients, metadata.input_info, strict=True))
            if gradient is None and info.requires_grad and not info.is_leaf
        ),
        saved=metadata.num_forward,
        unchecked=metadata.num_tensors_saved_with_no_vc_check or 0,
        numbers=metadata.num_symints_saved_for_bw or 0,
        not_differentiable=tuple(i for i, info in enumerate([*written, *metadata.output_info]) if not info.requires_grad),
        unsafe_views=tuple(first + i for i in metadata.unsafe_view_out_indices),
        tangents=[_tangent(position, meta) for position, meta in zip(positions, layouts, strict=True)],
        donated=tuple(index - (metadata.num_symints_saved_for_bw or 0) for index in metadata.bw_donated_idxs or ()),
        is_deterministic=bool(metadata.deterministic),
    )


def _tangent(position: int, meta: Any) -> Tangent:
    if type(meta).__name__ != "PlainTensorMeta":
        raise NotKept("the backward takes gradients of subclasses of tensors")
    layout = meta.memory_format
    if layout.memory_format is not None:
        name = str(layout.memory_format).removeprefix("torch.")
        return Tangent(position=position, size=None, stride=None, memory_format=name)
    return Tangent(position=position, size=tuple(map(int, layout.size)), stride=tuple(map(int, layout.stride)), memory_format="")
