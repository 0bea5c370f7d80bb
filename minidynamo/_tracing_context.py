"""The surroundings in which AOTAutograd and Inductor expect to compile: a tracing context with fake inputs of static shapes.

Without one they make up their own, and neither looks into its cache on disk: each process would compile everything again.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._guards import TracingContext, tracing

if TYPE_CHECKING:
    from torch._subclasses import FakeTensorMode


class _LazyContext(TracingContext):
    """Makes its fake mode when somebody asks for it: a backend that looks at nothing need not wait for sympy's import."""

    def __init__(self, inputs: Sequence[Any]) -> None:
        self._inputs: Sequence[Any] = inputs
        self._fakes: list[Any] = []
        self._mode: FakeTensorMode | None = None
        self._is_over = False
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
        """The inputs in the fake mode, which gives the same fakes to whoever brings the real ones."""
        if self._mode is None:
            self._make()
        return self._fakes

    def _make(self) -> None:
        from torch._subclasses import FakeTensorMode
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        mode = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv(), static_shapes=True)
        # Shapes are static now, whatever is asked for later: a captured graph holds for these alone.
        self._fakes = [mode.from_tensor(x, static_shapes=True) if isinstance(x, torch.Tensor) else x for x in self._inputs]
        self._mode = mode

    def close(self) -> None:
        """The context may be entered again, for a backward that is compiled late; the inputs it was made for are let go of."""
        self._is_over = True
        self._inputs, self._fakes = (), []


@contextlib.contextmanager
def tracing_context(inputs: Sequence[Any]) -> Iterator[_LazyContext]:
    """Enters a context for a graph with these inputs, and leaves it whatever happens."""
    context = _LazyContext(inputs)
    with tracing(context):
        try:
            yield context
        finally:
            context.close()
