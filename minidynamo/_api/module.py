"""The module that `optimize(module)` returns: the original, with its call captured.

It holds the original as its only child (so state_dict keys carry `_orig_mod.`, as `torch.compile`'s wrapper has them) and
forwards every other attribute, reading and writing. It has no parameters, buffers, hooks or training flag of its own beyond
what users register on it.
"""

import functools
import types
from collections.abc import Callable, Sized
from typing import Any

import torch

from minidynamo import _C
from minidynamo._api import global_capture, rules
from minidynamo._capture.capture_config import CaptureConfig
from minidynamo._records.user_warnings import warn

# The attributes of the wrapper itself; anything else is the original module's.
_OWN = frozenset({"_orig_mod", "_capture_config", "_ready", "forward", "__dict__"})


class OptimizedModule(torch.nn.Module):
    """An `nn.Module` whose calls run what was captured of the original's.

    Args:
        module: the module to wrap; it stays usable by itself, uncaptured.
        config: how to capture; None runs the original with capture off, as `disable(module)` asks for.

    Example:
        >>> optimized = minidynamo.optimize("eager")(torch.nn.Linear(2, 3))
        >>> optimized(torch.ones(1, 2)).shape
        torch.Size([1, 3])
        >>> sorted(optimized.state_dict())
        ['_orig_mod.bias', '_orig_mod.weight']
    """

    _orig_mod: torch.nn.Module
    _capture_config: CaptureConfig | None
    forward: Callable[..., Any]

    def __init__(self, module: torch.nn.Module, config: CaptureConfig | None) -> None:
        # Attribute access on self asks for _orig_mod, also while nn.Module.__init__ runs; registration follows it.
        object.__setattr__(self, "_orig_mod", module)
        object.__setattr__(self, "_ready", False)
        super().__init__()
        del self.__dict__["_orig_mod"]
        object.__setattr__(self, "_ready", True)
        self._modules["_orig_mod"] = module
        self._capture_config = config
        self._install_forward()

    def _install_forward(self) -> None:
        # The call, not forward alone: the original's own hooks are part of what is captured.
        original = self._orig_mod
        if self._capture_config is None:
            self.forward = rules.without_capture(original, None, named_after=original.forward)
            return
        captured = _C.OptimizedFunction(original, self._capture_config)
        infer = getattr(original, "_infer_parameters", None)
        if callable(infer) and hasattr(original, "_initialize_hook"):
            self.forward = functools.partial(_call_lazy, self, captured)
        else:
            self.forward = captured

    def precompile(self, *args: Any, **kwargs: Any) -> bool:
        """Captures and compiles a call of the module with these arguments without making it, as `OptimizedFunction.precompile`."""
        if isinstance(self.forward, functools.partial):
            _take_shapes(self, self.forward.args[1], args, kwargs)
        return isinstance(self.forward, _C.OptimizedFunction) and self.forward.precompile(*args, **kwargs)

    @property
    def training(self) -> bool:
        return self._orig_mod.training

    @training.setter
    def training(self, value: bool) -> None:
        # nn.Module.__init__ sets its default, which says nothing about the original.
        if self._ready:
            self._orig_mod.training = value

    def __getattr__(self, name: str) -> Any:
        if name in ("__deepcopy__", "__copy__"):  # the wrapper is copied, not what it wraps
            raise AttributeError(name)
        if name == "_orig_mod":
            modules = self.__dict__.get("_modules")
            if modules is None:  # being unpickled or copied: nothing to forward to yet
                raise AttributeError(name)
            return modules["_orig_mod"]
        value = getattr(self._orig_mod, name)
        return _says_so(self._orig_mod, value) if name == "generate" and self._capture_config is not None else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _OWN or hasattr(type(self), name):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in _OWN or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __dir__(self) -> list[str]:
        names = list(dir(self._orig_mod))
        return names + [name for name in super().__dir__() if name not in set(names)]  # type: ignore[no-untyped-call]

    def __len__(self) -> int:
        if isinstance(self._orig_mod, Sized):
            return len(self._orig_mod)
        raise TypeError(f"object of type {type(self._orig_mod).__name__!r} has no len()")

    def __bool__(self) -> bool:
        # Having __len__ must not make the wrapper of an empty or unsized module false, or an error, in a condition.
        return bool(self._orig_mod)

    def __reduce__(self) -> tuple[Any, ...]:
        # The native callable is rebuilt on the other side. What users registered on the wrapper itself travels as state.
        state = {key: value for key, value in self.__dict__.items() if key not in ("forward", "_modules", "_ready")}
        return _rebuild, (type(self), self._orig_mod, self._capture_config), state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


_has_said_so = False


def _says_so(module: torch.nn.Module, generate: Any) -> Any:
    """A method `generate` that calls the module to which it belongs, the original. It says once that nothing is captured then."""
    function = getattr(generate, "__func__", None)
    if _has_said_so or function is None or generate.__self__ is not module or torch.compiler.is_compiling():
        return generate
    if module._compiled_call_impl is not None or isinstance(module.__dict__.get("forward"), _C.OptimizedFunction):
        return generate

    @functools.wraps(function)
    def saying_so(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        global _has_said_so
        if not _has_said_so and global_capture.active_backend() is None:
            _has_said_so = True
            warn(
                f"minidynamo: {type(module).__name__}.generate() calls the module that it belongs to, not the captured one, so that it "
                "runs uncaptured. minidynamo.compile_in_place(model) captures the calls of the module itself; then call model.generate()"
            )
        return function(self, *args, **kwargs)

    return types.MethodType(saying_so, module)


def _rebuild(kind: type[OptimizedModule], module: torch.nn.Module, config: CaptureConfig | None) -> OptimizedModule:
    return kind(module, config)


def _call_lazy(wrapper: OptimizedModule, captured: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The first call of a lazy module."""
    _take_shapes(wrapper, captured, args, kwargs)
    return captured(*args, **kwargs)


def _take_shapes(wrapper: OptimizedModule, captured: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """A lazy module's parameters get their shapes before anything is captured."""
    original = wrapper._orig_mod
    if hasattr(original, "_initialize_hook"):
        original._infer_parameters(original, args, kwargs)  # type: ignore[operator]
    wrapper.forward = captured
