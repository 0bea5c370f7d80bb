"""The surroundings in which AOTAutograd and Inductor expect to compile: a tracing context with fake inputs.

Without one they make up their own, and neither looks into its cache on disk: each process would compile everything again. Sizes of
inputs that the capture leaves open (`graph_module.meta["open_sizes"]`) are symbols of a ShapeEnv; what the compiler asks of them comes
back as conditions on integers (`graph_module.meta["size_conditions"]`), which become guards of the cache entry.
"""

import contextlib
import contextvars
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import torch
from torch._guards import Source, TracingContext, tracing

from minidynamo._capture.conditions import Condition, Layout, computed, in_terms_of

if TYPE_CHECKING:
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

_collected: contextvars.ContextVar[list[Condition] | None] = contextvars.ContextVar("_collected", default=None)


@dataclass(frozen=True)
class InputSource(Source):
    """Where a graph input comes from, in the form that AOTAutograd and a ShapeEnv report and tell inputs apart by."""

    text: str

    @property
    def _name_template(self) -> str:
        return self.text


def has_open_sizes(graph_module: torch.fx.GraphModule) -> bool:
    """True if a size of an input, or an int, may differ at the next call."""
    return any(sizes is None or sizes for sizes in graph_module.meta.get("open_sizes", ()))


def is_static(x: Any, source: str) -> bool:
    """True if an input stays at its address from call to call: a parameter, a buffer, or a tensor that the program has marked."""
    return (
        isinstance(x, (torch.nn.Parameter, torch.nn.Buffer))
        or "._buffers[" in source
        or getattr(x, "_dynamo_static_input_type", None) is not None
    )


def _no_view(x: torch.Tensor) -> torch.Tensor:
    """A tensor in the same place of the same storage that is no view of another, whose sizes would have to be symbols too."""
    if not x._is_view() or x.requires_grad or x.is_conj() or x.is_neg():
        return x
    return torch.empty(0, dtype=x.dtype, device=x.device).set_(x.untyped_storage(), x.storage_offset(), x.size(), x.stride())


def _of_strided(x: torch.Tensor) -> torch.Tensor:
    """The tensor, or one over the same memory that is no view of a sparse tensor, of which no fake can be made."""
    if not x._is_view() or x._base is None or x._base.layout == torch.strided or type(x) is not torch.Tensor:
        return x
    return x.data.requires_grad_(x.requires_grad)


class _LazyContext(TracingContext):
    """Makes its fake mode when somebody asks for it: a backend that looks at nothing need not wait for sympy's import."""

    def __init__(self, inputs: Sequence[Any], open_sizes: Sequence[tuple[int, ...] | None], layouts: Sequence[Layout | None]) -> None:
        self._inputs: Sequence[Any] = inputs
        self._open_sizes = open_sizes
        self._layouts = layouts
        self._fakes: list[Any] = []
        self._mode: FakeTensorMode | None = None
        self._symbols: dict[Any, tuple[Any, ...]] = {}  # sympy's symbol -> the number that it is
        self._is_over = False
        # For a backend that another one has called with its own inputs: dynamic ints are symbols of that one's already.
        self._outer = TracingContext.try_get() if any(isinstance(x, torch.SymInt) for x in inputs) else None
        super().__init__(None)

    @property
    def fake_mode(self) -> "FakeTensorMode | None":
        if self._mode is None and not self._is_over:
            self._make()
        return self._mode

    @fake_mode.setter
    def fake_mode(self, mode: "FakeTensorMode | None") -> None:
        self._mode = mode

    def fakes(self) -> list[Any]:
        """The inputs in the fake mode, which makes the same fakes again of the same real ones; dynamic ints as SymInts."""
        if self._mode is None:
            self._make()
        return self._fakes

    def _make(self) -> None:
        from torch._subclasses import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        if self._outer is not None and self._outer.fake_mode is not None:
            mode = self._outer.fake_mode
            self._fakes = [mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for x in self._inputs]
        elif not self._open_sizes:
            mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv(), static_shapes=True)
            # Shapes are static now, whatever is asked for later: a captured graph holds for these alone.
            self._fakes = [self._fixed(mode, x) if isinstance(x, torch.Tensor) else x for x in self._inputs]
        else:
            # Equal sizes are symbols of their own: where a kernel wants them equal, that is a condition. But those of a piece are related.
            env = ShapeEnv(duck_shape=False, assume_static_by_default=False)
            mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=env)
            self._mode = mode  # the ShapeEnv asks for it on the way
            self._fakes = [self._fake(mode, i, x, sizes) for i, (x, sizes) in enumerate(zip(self._inputs, self._open_sizes, strict=True))]
            self._relate()
        self._mode = mode

    def _fixed(self, mode: "FakeTensorMode", x: torch.Tensor) -> Any:
        shown = _of_strided(x)
        fake = mode.from_tensor(shown, static_shapes=True)
        if shown is not x:
            mode.fake_tensor_converter.set_tensor_memo(x, fake)
        return fake

    def _fake(self, mode: "FakeTensorMode", position: int, x: Any, sizes: tuple[int, ...] | None) -> Any:
        from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

        source = InputSource(f"input_{position}")
        env: Any = mode.shape_env
        if sizes is None:
            symbol = env.create_symbol(x, source, dynamic_dim=DimDynamic.DYNAMIC, do_not_specialize_zero_one=True, positive=None)
            self._symbols[symbol] = ("int", position)
            return env.create_symintnode(symbol, hint=x, source=source)
        if not isinstance(x, torch.Tensor):
            return x
        if not sizes:
            return mode.from_tensor(x, static_shapes=True, source=source)
        how = [DimDynamic.DYNAMIC if d in sizes else DimDynamic.STATIC for d in range(x.dim())]
        fake = mode.from_tensor(_no_view(x), source=source, symbolic_context=StatelessSymbolicContext(dynamic_sizes=how))
        if x._is_view():
            mode.fake_tensor_converter.set_tensor_memo(x, fake)
        for d in sizes:
            size: Any = fake.shape[d]
            self._symbols.setdefault(size.node.expr, ("size", position, d))
        return fake

    def _relate(self) -> None:
        """Tells the ShapeEnv which sizes of a piece's inputs are one size of the graph's inputs, or are computed of such."""
        known: dict[Any, Any] = {}
        others: list[tuple[Any, Any]] = []
        for fake, layout in zip(self._fakes, cast(Sequence[Any], self._layouts), strict=False):
            if layout is None:
                continue
            for number, size in zip(layout[0], fake.shape, strict=True) if isinstance(fake, torch.Tensor) else [(layout, fake)]:
                is_of_input = isinstance(number, tuple) and number[0] in ("size", "int")
                if is_of_input and number not in known:
                    known[number] = size
                elif isinstance(number, tuple):
                    others.append((number, size))
        for number, size in others:
            expected = computed(number, known)
            if expected is None:
                known[number] = size
                continue
            is_equal = size == expected
            if not is_equal:  # asks: the answer is a guard, from which the ShapeEnv learns
                raise AssertionError(f"{number} of a piece is {size}, not {expected}")

    def conditions(self) -> list[Condition]:
        """The conditions on dynamic sizes so far."""
        if not self._symbols or self._mode is None:
            return []
        from minidynamo._capture.size_conditions import conditions

        values = {
            symbol: self._inputs[where[1]] if where[0] == "int" else self._inputs[where[1]].shape[where[2]]
            for symbol, where in self._symbols.items()
        }
        env: ShapeEnv = self._mode.shape_env  # type: ignore[assignment]
        return conditions(env, self._symbols, values)

    def strides(self) -> list[Condition] | None:
        """The strides that compiled code takes for granted: of each tensor with dynamic sizes, as they follow from the sizes.

        None if one is a symbol of its own.
        """
        if not self._symbols or self._mode is None:
            return []
        from minidynamo._capture.size_conditions import number

        found: list[Condition] = []
        for position, (sizes, fake) in enumerate(zip(self._open_sizes, self._fakes, strict=True)):
            for dimension, stride in enumerate(fake.stride() if sizes else ()):
                of_sizes = stride if isinstance(stride, int) else number(stride.node.expr, self._symbols)
                if of_sizes is None:
                    return None
                found.append(("==", ("stride", position, dimension), of_sizes))
        return found

    def close(self) -> None:
        """The context may be entered again, for a backward that is compiled late; the inputs it was made for are let go of."""
        self._is_over = True
        self._inputs, self._fakes, self._outer = (), [], None


@contextlib.contextmanager
def tracing_context(inputs: Sequence[Any], graph_module: torch.fx.GraphModule | None = None) -> Iterator[_LazyContext]:
    """Enters a context for a graph with these inputs, and leaves it whatever happens."""
    meta = graph_module.meta if graph_module is not None else {}
    context = _LazyContext(inputs, meta.get("open_sizes", ()), meta.get("layouts", ()))
    with tracing(context):
        try:
            yield context
            note(context.conditions())
        finally:
            context.close()


def note(conditions: Sequence[Condition]) -> None:
    """Reports conditions to the capture that is being compiled, if any."""
    if (collected := _collected.get()) is not None:
        collected += conditions


@contextlib.contextmanager
def noted_in_terms_of(layouts: Sequence[Any] | None) -> Iterator[None]:
    """Conditions that are noted within are about a part's inputs: they are noted as conditions on the inputs of the graph.

    Args:
        layouts: for each input of the part its `Layout`, or None; None if nothing of it is dynamic.
    """
    outer = _collected.get()
    if outer is None or layouts is None:
        yield
        return
    own: list[Condition] = []
    token = _collected.set(own)
    try:
        yield
    finally:
        _collected.reset(token)
    outer += [in_terms_of(layouts, condition) for condition in own]


@contextlib.contextmanager
def conditions_noted(graph_module: torch.fx.GraphModule) -> Iterator[None]:
    """Reports to the capture the conditions that compilers need on dynamic sizes, in any context that is made within."""
    if "open_sizes" not in graph_module.meta:
        yield
        return
    noted: list[Condition] = []
    token = _collected.set(noted)
    try:
        yield
    finally:
        _collected.reset(token)
    graph_module.meta.setdefault("size_conditions", list(dict.fromkeys(noted)))
