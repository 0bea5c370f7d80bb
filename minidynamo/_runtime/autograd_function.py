"""Replaces torch's C code for an autograd.Function in a trace."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._functorch.autograd_function import NO_OUT_DIMS, custom_function_call_grad, custom_function_call_vmap
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from torch.autograd.function import BackwardCFunction, FunctionCtx
from torch.utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_leaves, tree_unflatten

# The other attributes of a real ctx: it is a node of autograd's graph, which a trace has not got.
_OF_GRAPH_NODES = frozenset(name for name in dir(torch._C._FunctionBase) if not name.startswith("__"))


class Context(FunctionCtx):
    """The `ctx` of a function that is traced: an ordinary object."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name in _OF_GRAPH_NODES:
            ask_graph_node(name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def ask_graph_node(name: str) -> None:
    """Ends a trace: `ctx` is asked for something that only a node of autograd's graph knows."""


class _Results(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, results: Sequence[torch.Tensor], dirty: Sequence[int], constant: Sequence[int], *inputs: torch.Tensor) -> Any:
        if dirty:
            ctx.mark_dirty(*[results[i] for i in dirty])
        if constant:
            ctx.mark_non_differentiable(*[results[i] for i in constant])
        return tuple(results)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise NotImplementedError("a trace has no backward pass")


def with_history(
    results: Sequence[torch.Tensor], dirty: Sequence[int], constant: Sequence[int], inputs: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    """Attaches to the results of a forward the history that torch attaches to the results of an autograd.Function.

    Arguments:
        results: those of the forward, tensors of any shapes without a history.
        dirty: positions of those that are inputs which it wrote to.
        constant: positions of those that were marked as not differentiable.
        inputs: the tensors that the function was applied to.

    Returns:
        The tensors that the program gets: mostly the same objects.
    """
    made: tuple[torch.Tensor, ...] = _Results.apply(results, dirty, constant, *inputs)  # type: ignore[no-untyped-call]
    return made


def add_backward_class(function: Any) -> None:
    """Makes the class of nodes in autograd's graph for a class that a trace has made, as FunctionMeta does, but for its number."""
    made: Any = type(function.__name__ + "Backward", (BackwardCFunction,), {"_forward_cls": function})
    made._autograd_function_id = -1
    made._bw_module = None
    type.__setattr__(function, "_backward_cls", made)


class Level:
    """The attributes of a level of torch.func that torch's rules for an autograd.Function read."""

    def __init__(self, number: int, grad_mode: bool, batch_size: int, randomness: str) -> None:
        self._number = number
        self._grad_mode = grad_mode
        self._batch_size = batch_size
        self._randomness = randomness

    def level(self) -> int:
        return self._number

    def batch_size(self) -> int:
        return self._batch_size

    def randomness(self) -> str:
        return self._randomness

    @contextlib.contextmanager
    def lower(self) -> Iterator[None]:
        """Leaves the level for a while, for those below it."""
        before = torch.is_grad_enabled()
        if not self._grad_mode:
            torch._C._set_grad_enabled(False)
        leave_level()
        try:
            yield
        finally:
            return_to_level()
            if not self._grad_mode:
                torch._C._set_grad_enabled(before)


_left = threading.local()  # by number, the levels that this thread's trace has left for a while


def leave_level() -> None:
    """Takes the innermost level off; a trace runs this as it is."""
    number = torch._C._functorch.get_dynamic_layer_stack_depth()
    vars(_left)[str(number)] = torch._C._functorch.pop_dynamic_layer_stack()


def return_to_level() -> None:
    """Puts back the level that was taken off at this place; a trace runs this as it is."""
    number = torch._C._functorch.get_dynamic_layer_stack_depth() + 1
    torch._C._functorch.push_dynamic_layer_stack(vars(_left).pop(str(number)))


def innermost() -> tuple[str, int, bool, int, str]:
    """The kind of the innermost level, and what makes a `Level`; a trace runs this as it is."""
    interpreter: Any = retrieve_current_functorch_interpreter()
    kind = str(interpreter.key().name)
    is_vmap = kind == "Vmap"
    grad_mode = interpreter.prev_grad_mode() if kind == "Grad" else True
    return (
        kind,
        interpreter.level(),
        grad_mode,
        interpreter.batch_size() if is_vmap else 0,
        interpreter.randomness() if is_vmap else "",
    )


def lift(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor as the innermost level sees it; a trace runs this as it is."""
    interpreter: Any = retrieve_current_functorch_interpreter()  # which has to outlive its `_cptr`
    lifted: torch.Tensor = interpreter._cptr.lift(tensor)
    return lifted


def wrap_outputs(outputs: Any, unwrapped: Any, originals: Any, wrap: Callable[..., Any], out_dims: Any = NO_OUT_DIMS) -> Any:
    """Wraps what a level's function gave, but for what it was given: that is the tensor that stood for it outside.

    Arguments:
        outputs: what it gave.
        unwrapped: what it was given.
        originals: what stood for these outside of the level.
        wrap: wraps one tensor, given its dimension of `out_dims` if there are any.
        out_dims: for each output, or as a prefix of their structure.

    Returns:
        The outputs as they are seen outside of the level.
    """
    given = list(zip(tree_leaves(unwrapped), tree_leaves(originals), strict=True))
    leaves, spec = tree_flatten(outputs)
    dims = None
    if out_dims != NO_OUT_DIMS:
        dims = _broadcast_to_and_flatten(out_dims, spec)
        if dims is None:
            raise RuntimeError("The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple.")
    wrapped = []
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            same = [original for one, original in given if one is leaf]
            leaf = same[-1] if same else wrap(leaf) if dims is None else wrap(leaf, dims[i])
        wrapped.append(leaf)
    return tree_unflatten(wrapped, spec)


def call_in_transform(operator: Any, function: type[torch.autograd.Function], *operands: Any) -> Any:
    """Applies an autograd.Function where levels of torch.func are open: at the innermost one first, then at the next.

    Arguments:
        operator: torch's `custom_function_call`.
        function: the class.
        operands: those of `apply`.

    Returns:
        The result of `apply`.
    """
    kind, *state = innermost()
    if kind == "Vmap":
        return custom_function_call_vmap(Level(*state), function, *operands)  # type: ignore[arg-type]
    lifted = [lift(one) if isinstance(one, torch.Tensor) else one for one in operands]
    return custom_function_call_grad(Level(*state), function, *lifted)  # type: ignore[arg-type]
