"""`torch.compiler.reset()` and `torch._dynamo.reset()` forget what minidynamo has captured, too.

The first is a function of torch that is there from the beginning, and is wrapped. The second comes with torch._dynamo, which is
not imported for this: it resets each compiler that torch._dynamo knows, and one is ours.
"""

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch


class _Reset:
    """Stands among torch._dynamo's compilers, which are reset, and then forgotten: where it is, another one comes in its place."""

    def __init__(self, forget: Callable[[], None]) -> None:
        self.forget = forget

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("this is no backend")

    def reset(self) -> None:
        self.forget()

    def __del__(self) -> None:
        if not sys.is_finalizing():
            _join(self.forget)


_forget: Callable[[], None] | None = None


def join() -> None:
    """To be called whenever something has been captured: torch._dynamo may have been imported meanwhile."""
    if _forget is not None:
        _join(_forget)


def _join(forget: Callable[[], None]) -> None:
    module = sys.modules.get("torch._dynamo.eval_frame")
    backends = getattr(module, "cached_backends", None)
    if isinstance(backends, dict) and not any(type(known) is _Reset for known in list(backends.values())):
        ours = _Reset(forget)
        backends[id(ours)] = ours


def follow(forget: Callable[[], None]) -> None:
    """From now on `forget` is called when torch's compiler is reset."""
    global _forget
    _forget = forget
    original = torch.compiler.reset

    @functools.wraps(original)
    def reset() -> None:
        forget()
        original()

    torch.compiler.reset = reset
    join()
