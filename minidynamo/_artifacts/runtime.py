"""Runs a compiled graph that was loaded from disk: what AOTAutograd's wrappers do at run time, without AOTAutograd.

A compiled graph has a calling convention of AOTAutograd's: beside the results it returns the new values of inputs that are written to,
the bases of results that are views, and what the backward graph needs. `Convention` says in numbers what is what; `boxed_callable_of` makes
of it, and of the two compiled functions, what residual code calls.
"""

import pickle
from collections.abc import Callable, Sequence
from typing import Any, TypedDict

import torch

from minidynamo import _C

Boxed = Callable[[list[Any]], Sequence[Any]]
"""A compiled graph: takes its inputs as one list, which it empties."""


class Output(TypedDict):
    """How a result of the graph is made of what the compiled graph returns.

    Attributes:
        kind: "value", "input" (the input `base` itself), "view_of_input" or "view_of_output" (a view of the compiled graph's return
            value `base`).
        base: an index; -1 for a value.
        requires_grad: whether the result does.
        views: the pickled list of view operations that lead from the base to the result; empty if only its place in memory is known.
    """

    kind: str
    base: int
    requires_grad: bool
    views: bytes


class Mutation(TypedDict):
    """An input whose new value the compiled graph returns, for the caller to write.

    Attributes:
        input: its index.
        how: "storage" (`set_`), "layout" (new sizes and strides), "data", or "both" (the last two).
        is_leaf: whether it is a leaf of autograd's graph, which may not be written to where autograd looks.
    """

    input: int
    how: str
    is_leaf: bool


class Tangent(TypedDict):
    """A gradient that the backward graph takes: the position among what the forward returns, and the layout that was compiled for.

    Attributes:
        position: an index.
        size, stride: what its layout has to be; None where a memory format is asked for.
        memory_format: the name of one, "" where size and stride are given.
    """

    position: int
    size: tuple[int, ...] | None
    stride: tuple[int, ...] | None
    memory_format: str


class Backward(TypedDict):
    """The data that a graph that is differentiated needs in addition.

    Attributes:
        detached: inputs that get no gradient, whatever it is asked of.
        saved: where the tensors for the backward begin among what the forward graph returns.
        unchecked: how many of the last of them are saved without a check of their version.
        numbers: how many ints follow them, which the backward graph takes first.
        not_differentiable: positions among the returned values.
        unsafe_views: positions of results that get a view history of their own.
        tangents: one for each gradient that the backward graph takes.
        donated: positions among the saved tensors of those whose memory the backward graph uses for its own results.
        is_deterministic: whether deterministic algorithms were asked for.
    """

    detached: tuple[int, ...]
    saved: int
    unchecked: int
    numbers: int
    not_differentiable: tuple[int, ...]
    unsafe_views: tuple[int, ...]
    tangents: list[Tangent]
    donated: tuple[int, ...]
    is_deterministic: bool


class Convention(TypedDict):
    """The calling convention of a compiled graph.

    Attributes:
        mutations: come first among the returned values.
        outputs: come next.
        bases: how many values follow that are no results, but bases of results that are views.
        counted: inputs that the graph writes to by itself, and whose version grows.
        grad_mode: the grad mode after the call, None if the graph does not change it.
        without_autocast: whether autocast is off while it runs, since the graph has its conversions already.
        backward: None where nothing is differentiated.
    """

    mutations: list[Mutation]
    outputs: list[Output]
    bases: int
    counted: tuple[int, ...]
    grad_mode: bool | None
    without_autocast: bool
    backward: Backward | None


def boxed_callable_of(convention: Convention, forward: Boxed, backward: Boxed | None) -> Boxed:
    """The function that a captured graph is called by: takes its inputs as one list, which it empties, and returns its results."""
    if convention["without_autocast"]:
        forward = _without_autocast(forward)
        backward = None if backward is None else _without_autocast(backward)
    finish = _finisher(convention)
    if convention["backward"] is None or backward is None:
        return _inference(convention, forward, finish)
    return _training(convention, convention["backward"], forward, backward, finish)


def _without_autocast(compiled: Boxed) -> Boxed:
    def call(inputs: list[Any]) -> Sequence[Any]:
        with torch._C._DisableAutocast():
            return compiled(inputs)

    return call


def _inference(convention: Convention, forward: Boxed, finish: Callable[..., Any] | None) -> Boxed:
    counted = convention["counted"]

    def call(inputs: list[Any]) -> Any:
        if counted:
            torch.autograd.graph.increment_version([inputs[i] for i in counted])
        given = () if finish is None else tuple(inputs)
        if torch.is_grad_enabled():
            torch._C._set_grad_enabled(False)
            try:
                returned = forward(inputs)
            finally:
                torch._C._set_grad_enabled(True)
        else:
            returned = forward(inputs)
        return returned if finish is None else finish(given, returned)

    return call


def _training(convention: Convention, plan: Backward, forward: Boxed, backward: Boxed, finish: Callable[..., Any] | None) -> Boxed:
    apply = _node(convention, plan, forward, backward)
    if finish is None:
        return apply

    def call(inputs: list[Any]) -> Any:
        given = tuple(inputs)
        return finish(given, apply(inputs))

    return call


def _node(convention: Convention, plan: Backward, forward: Boxed, backward: Boxed) -> Boxed:
    first_output = len(convention["mutations"])
    hidden = (
        *(i for i, mutation in enumerate(convention["mutations"]) if mutation["how"] in ("layout", "storage")),
        *(first_output + i for i, output in enumerate(convention["outputs"]) if output["kind"] != "value"),
    )
    native_plan = {
        "values": first_output + len(convention["outputs"]) + convention["bases"],
        "hidden": hidden,
        "counted": convention["counted"],
        "tangents": [_native_tangent(tangent) for tangent in plan["tangents"]],
    }
    return _C.differentiable_callable(forward, backward, _backward_with_graph, {**plan, **native_plan})


def _native_tangent(tangent: Tangent) -> tuple[int, Any, tuple[int, ...], tuple[int, ...]]:
    memory_format = getattr(torch, tangent["memory_format"]) if tangent["memory_format"] else None
    return tangent["position"], memory_format, tangent["size"] or (), tangent["stride"] or ()


def _backward_with_graph(backward: Boxed, arguments: list[Any]) -> Any:
    return _Once.apply(backward, arguments, torch.empty(0, requires_grad=True))  # type: ignore[no-untyped-call,unused-ignore]


class _Once(torch.autograd.Function):
    """The results of a backward pass under create_graph=True: they require gradients, and whoever asks for these hears why not."""

    @staticmethod
    def forward(ctx: Any, compiled: Boxed, arguments: list[Any], marker: torch.Tensor) -> Any:
        return tuple(compiled(arguments))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise RuntimeError("a compiled backward cannot be differentiated: AOTAutograd does not support double backward")


def _finisher(convention: Convention) -> Callable[[Sequence[Any], Sequence[Any]], Any] | None:
    """The function that updates the inputs and converts the returned values after the compiled graph has run; None: nothing to do."""
    mutations, outputs, grad_mode = convention["mutations"], convention["outputs"], convention["grad_mode"]
    first = len(mutations)
    makers = [_maker(output) for output in outputs] if any(output["kind"] != "value" for output in outputs) else []
    if not mutations and not makers and not convention["bases"] and grad_mode is None:
        return None

    def finish(inputs: Sequence[Any], returned: Sequence[Any]) -> Any:
        for mutation, value in zip(mutations, returned, strict=False):
            _write(inputs[mutation["input"]], value, mutation)
        values = returned[first:]
        results = [make(inputs, values, value) for make, value in zip(makers, values, strict=False)] if makers else values[: len(outputs)]
        if grad_mode is not None:
            torch._C._set_grad_enabled(grad_mode)
        return results

    return finish


def _write(tensor: torch.Tensor, value: torch.Tensor, mutation: Mutation) -> None:
    how = mutation["how"]
    if how == "storage":
        with torch.no_grad():
            tensor.set_(value)  # type: ignore[call-overload]
        return
    if how in ("layout", "both"):
        tensor.as_strided_(value.size(), value.stride(), value.storage_offset())
    if how in ("data", "both"):
        # All writes to a leaf were made where autograd does not look.
        hides = mutation["is_leaf"] and tensor.requires_grad
        (tensor.detach() if hides else tensor).copy_(value)


def _maker(output: Output) -> Callable[[Sequence[Any], Sequence[Any], Any], Any]:
    kind, base = output["kind"], output["base"]
    if kind == "value":
        return lambda inputs, values, value: value
    if kind == "input":
        return lambda inputs, values, value: inputs[base]
    view, requires_grad = _view(output["views"]), output["requires_grad"]

    def make(inputs: Sequence[Any], values: Sequence[Any], value: Any) -> Any:
        source = inputs[base] if kind == "view_of_input" else values[base]
        result = view(source, value)
        if source.requires_grad and not requires_grad:
            return result.detach()
        if requires_grad and not source.requires_grad:
            result.requires_grad_(True)
        return result

    return make


def _view(pickled: bytes) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Makes a view of a tensor: by the same operations as the program's, or in the place of memory where `like` is."""
    if pickled:
        operations = pickle.loads(pickled)
        replay = torch._C._functionalization.apply_view_meta_sequence
        return lambda source, like: replay(source, operations)

    return in_its_place


def in_its_place(source: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """The view of `source` that has the sizes, strides, offset and dtype of `like`, which is in the same memory."""
    if source.is_complex() and not like.is_complex():
        source = torch.view_as_real(source)
    elif like.is_complex() and not source.is_complex():
        source = torch.view_as_complex(source)
    result = source.as_strided(like.size(), like.stride(), like.storage_offset())
    return result if result.dtype == like.dtype else result.view(like.dtype)
