"""`verify(fn)(*args)`: one call made twice, eagerly and captured, and a report of what differs and who is to blame."""

import contextlib
import dataclasses
import functools
import io
import sys
from collections.abc import Callable, Iterator
from typing import Any, Literal

import torch

from minidynamo import _C, debug
from minidynamo._api import optimize
from minidynamo._api.module import OptimizedModule
from minidynamo._capture.capture_config import CaptureConfig, capture_config
from minidynamo._verify.comparison import Difference, Tolerance, differences
from minidynamo._verify.graphs import GraphDifference, checked, gradients, random_state
from minidynamo._verify.photo import Photo
from minidynamo.exceptions import BackendCompilerFailed, InvalidOptimizeTarget

__all__ = ["Difference", "GraphDifference", "Verification", "checked_compiler", "verify"]

Cause = Literal["", "backend", "guards", "random numbers", "unseen", "capture"]

_MOST = 20  # differences in a report
_EXACT = ("eager", "aot_eager", "python")  # backends that run the operators that eager runs

_CAUSES: dict[Cause, str] = {
    "": "",
    "backend": "The backend is to blame: it failed, or a graph run operator by operator returns what eager returns.",
    "guards": "A cached entry is to blame that was captured for another call: captured anew, this call is right. Its guards are too weak.",
    "random numbers": "The backend draws random numbers of its own; with torch._inductor.config.fallback_random = True it draws eager's.",
    "unseen": "An object is to blame that cannot be put back between the two calls: the second found it as the first had left it.",
    "capture": "The capture is to blame: its graphs are compiled rightly. This is a defect of minidynamo; please report it.",
}


@dataclasses.dataclass(frozen=True)
class Verification:
    """A call made eagerly, and then captured from the same state. `str()` returns the readable report.

    Attributes:
        differences: what the captured call did otherwise: results, then objects that the call can reach, then random generators,
            gradients and what was printed. The first 20.
        cause: "backend", "guards" (an entry served a call that it is not for), "random numbers", "unseen" (the call reaches objects that
            cannot be put back) or "capture"; "" without a difference.
        graph: the first compiled graph that differs from its operators, with the operator and the program's line.
        guards: where the cause is "guards", those of the entries that served the call.
        unseen: paths and types of objects that cannot be compared, nor put back between the two calls: iterators, files.
        result: the call's result: captured if there is no difference, else eagerly.
        error: the exception that the call raised in both ways; None if it returned.
    """

    differences: tuple[Difference, ...]
    cause: Cause
    graph: GraphDifference | None
    guards: tuple[str, ...]
    unseen: dict[str, str]
    result: Any
    error: BaseException | None

    @property
    def same(self) -> bool:
        """True if the two calls did the same."""
        return not self.differences

    def __bool__(self) -> bool:
        return self.same

    def __str__(self) -> str:
        lines = ["captured and eager do the same"] if self.same else ["captured and eager differ", _CAUSES[self.cause]]
        lines += [f"  {difference}" for difference in self.differences]
        if self.graph is not None:
            lines.append(str(self.graph))
        if self.guards:
            lines += ["guards of the entries that served the call:", *(f"  {guard}" for guard in self.guards)]
        if self.unseen:
            unseen = ", ".join(f"{path} ({kind})" for path, kind in self.unseen.items())
            lines.append(f"not compared, and the same object in both calls: {unseen}")
        return "\n".join(lines)


def verify(
    fn: Callable[..., Any],
    *,
    backend: str | Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Callable[..., Verification]:
    """Says whether a call of `fn` does captured what it does eagerly, and if not, who is to blame.

    The returned function makes the call twice from one state: it notes what the arguments, the function's own objects (`self`, closure
    cells, global variables that it names) and the generators of random numbers hold, calls `fn` eagerly, puts everything back and
    calls it captured. It compares the results, what the objects hold then, the random generators, gradients of results with a
    history, what was printed, and the error if the call raises. What differs is looked into: each graph is captured anew and
    compared, operator by operator, with what the backend makes of it.

    Args:
        fn: function, method or module; or what `optimize` or `compile` made of it, whose cached entries are used then.
        backend: as in `optimize`; by default the one that `fn` is captured for, else that of `compile`.
        rtol: how far numbers may be apart, as a part of their size. By default not at all for "eager", "aot_eager" and "python";
            for compilers 1e-4 of float32 and 3e-2 of bfloat16 (docs/verify.md).
        atol: how far they may be apart in addition, whatever their size.

    Example:
        >>> report = minidynamo.verify(lambda x: x.sin() + 1, backend="eager")(torch.ones(3))
        >>> report.same
        True
        >>> print(report)
        captured and eager do the same
    """
    target, settings = _target_of(fn, backend)
    is_captured = backend is None and isinstance(fn, (OptimizedModule, _C.OptimizedFunction))
    captured = fn if is_captured else optimize.wrap(target, settings)
    tolerance = _tolerance(settings, rtol, atol)

    @functools.wraps(target if hasattr(target, "__name__") else type(target))
    def call(*args: Any, **kwargs: Any) -> Verification:
        return _Call(target, args, kwargs, tolerance).verify(captured, settings)

    return call


def checked_compiler(settings: CaptureConfig, report: Callable[[GraphDifference], None]) -> Callable[..., Any]:
    """The backend of these settings, whose graphs compare each call with their operators until one differs."""
    return _Checking(settings, _tolerance(settings, None, None), report)


class _Checking:
    """A backend that checks another one's graphs."""

    def __init__(self, settings: CaptureConfig, tolerance: Tolerance, report: Callable[[GraphDifference], None]) -> None:
        self._settings = settings
        self._tolerance = tolerance
        self._report = report
        self.graphs: list[torch.fx.GraphModule] = []

    def __call__(self, graph_module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        self.graphs.append(graph_module)
        graph_module.meta.pop("pieces", None)
        return checked(graph_module, example_inputs, self._settings._compiler, self._tolerance, self._report)


def _target_of(fn: Any, backend: str | Callable[..., Any] | None) -> tuple[Any, CaptureConfig]:
    """The function to capture, uncaptured; and the configuration of the capture."""
    if not callable(fn):
        raise InvalidOptimizeTarget(f"verify needs a function, method or module, got {type(fn).__name__}")
    own = fn._capture_config if isinstance(fn, OptimizedModule) else getattr(fn, "config", None)
    settings = own if isinstance(own, CaptureConfig) else capture_config(backend or optimize.default_backend())
    if backend is not None:
        settings = settings.with_backend(backend)
    return (fn._orig_mod if isinstance(fn, OptimizedModule) else optimize._innermost(fn)), settings


def _tolerance(settings: CaptureConfig, rtol: float | None, atol: float | None) -> Tolerance:
    return Tolerance(rtol, atol, exact=settings.backend_name in _EXACT and rtol is None and atol is None)


class _Call:
    """One call, which can be made again and again from the state that it found."""

    def __init__(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tolerance: Tolerance) -> None:
        self._target = target
        self._args = args
        self._kwargs = kwargs
        self._tolerance = tolerance
        name = "module" if isinstance(target, torch.nn.Module) else getattr(target, "__qualname__", type(target).__qualname__)
        self._roots = {"args": args, "kwargs": kwargs, name: target} | random_state()
        self._before = Photo(self._roots)
        self._before.put_back()  # sets have the order that they will have each time
        self._result: Any = None
        self._error: BaseException | None = None
        self._printed = ""

    def verify(self, captured: Callable[..., Any], settings: CaptureConfig) -> Verification:
        expected = self._photo_after(lambda *args, **kwargs: _C.call_disabled(self._target, args, kwargs))
        result, error = self._result, self._error
        print(self._printed, end="")
        self._before.put_back()
        hits = _hits(captured)
        actual = self._photo_after(captured)
        found = self._differences(expected, actual)
        if not found:
            return Verification((), "", None, (), self._before.opaque, self._result, self._error)
        served = tuple(guard for entry, count in _hits(captured).items() if count > hits.get(entry, 0) for guard in entry.guards)
        self._before.put_back()
        graph, cause = self._blame(settings, expected)
        expected.put_back()
        guards = served if cause == "guards" else ()
        return Verification(tuple(found), cause, graph, guards, self._before.opaque, result, error)

    def _blame(self, settings: CaptureConfig, expected: Photo) -> tuple[GraphDifference | None, Cause]:
        """Captures the call anew with each graph checked."""
        wrong: list[GraphDifference] = []
        checking = _Checking(settings, self._tolerance, wrong.append)
        anew = settings.with_backend(checking)
        aside = _C.StateAside(anew)
        try:
            with _eager_random_numbers() as can_differ:
                fresh = self._photo_after(optimize.wrap(self._target, anew))
        finally:
            aside.end()
        if wrong or isinstance(self._error, BackendCompilerFailed):
            return wrong[0] if wrong else None, "backend"
        if self._before.opaque:
            return None, "unseen"
        if self._differences(expected, fresh):
            return None, "capture"
        draws = any(_draws(graph) for graph in checking.graphs)
        return None, "random numbers" if draws and can_differ else "guards"

    def _photo_after(self, function: Callable[..., Any]) -> Photo:
        """Makes the call, and takes a photo of all that came of it."""
        named: dict[str, Any] = {}
        self._result = self._error = None
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                self._result = function(*self._args, **self._kwargs)
        except Exception as error:
            self._error = error
            named["raised"] = f"{type(error).__qualname__}: {error}"
        named["result"] = self._result
        named["printed"] = self._printed = printed.getvalue()
        if torch.is_grad_enabled():
            named |= self._gradients()
        return Photo(named | self._roots)

    def _gradients(self) -> dict[str, Any]:
        leaves = [leaf for leaf in self._before.leaves() if leaf.requires_grad]
        try:
            given = gradients(self._result, leaves)
        except RuntimeError as error:
            return {_NO_GRADIENTS: str(error)}
        return {f"gradient of {self._path_of(leaf)}": gradient for leaf, gradient in zip(leaves, given, strict=False)}

    def _path_of(self, tensor: torch.Tensor) -> str:
        return self._before.paths[id(tensor)]

    def _differences(self, expected: Photo, actual: Photo) -> list[Difference]:
        missing = sorted(expected.roots.keys() ^ actual.roots.keys())
        if missing and _NO_GRADIENTS not in expected.roots:
            return [Difference(name, str(expected.roots.get(name, "nothing")), str(actual.roots.get(name, "nothing"))) for name in missing]
        found = []
        for difference in differences(expected, actual, self._before, self._tolerance):
            found.append(difference)
            if len(found) == _MOST:
                break
        return found


_NO_GRADIENTS = "why there are no gradients"


def _hits(captured: Any) -> dict[Any, int]:
    """The cached entries of what is captured, resume functions' too, and how often each was used."""
    return {entry: entry.hits for code in debug.codes_of(captured, resumed=True) for entry in _C.cache_entries(code)}


@contextlib.contextmanager
def _eager_random_numbers() -> Iterator[bool]:
    """Inductor draws as eager does; whether it would not have."""
    settings = sys.modules.get("torch._inductor.config")
    if settings is None or settings.fallback_random:
        yield False
        return
    with settings.patch(fallback_random=True):
        yield True


def _draws(graph_module: torch.fx.GraphModule) -> bool:
    """True if an operator of the graph draws random numbers."""
    from torch._C import Tag

    for node in graph_module.graph.nodes:
        tags = getattr(node.target, "tags", ())
        name = getattr(node.target, "__name__", str(node.target))
        if Tag.nondeterministic_seeded in tags or "dropout" in name or name.startswith(("rand", "bernoulli", "normal", "multinomial")):
            return True
    return False
