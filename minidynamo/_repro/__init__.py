"""`repro(fn)(*args)`: one captured call, whose graphs are written as Python files for a bug report."""

import dataclasses
import os
import pathlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from minidynamo import _C, config, debug
from minidynamo._api import optimize
from minidynamo._capture.capture_config import CaptureConfig
from minidynamo._records import log_records
from minidynamo._repro.minimise import Fails, differs, raises_alike
from minidynamo._repro.source import Header
from minidynamo._repro.writing import Writing
from minidynamo._verify import _target_of, _tolerance
from minidynamo._verify.graphs import GraphDifference
from minidynamo.backends._undisturbed import undisturbed
from minidynamo.exceptions import BackendCompilerFailed

__all__ = ["Reproduction", "repro"]


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """The files of one call.

    Attributes:
        paths: the written files: those of the graphs that fail, or of all graphs where none fails.
        failures: for each of these files what failed; "" if nothing did.
        unwritten: for each graph that has no file, why it has none.
    """

    paths: tuple[str, ...]
    failures: tuple[str, ...]
    unwritten: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{path}: {failure or 'nothing failed'}" for path, failure in zip(self.paths, self.failures, strict=True)]
        return "\n".join([*lines, *(f"not written: {why}" for why in self.unwritten)]) or "the call has no graph"


def repro(
    fn: Callable[..., Any], folder: str | os.PathLike[str] = ".", *, backend: str | Callable[..., Any] | None = None, data: bool = False
) -> Callable[..., Reproduction]:
    """Writes the graphs of one call of `fn` as Python files that can be run, for a report of a backend's defect.

    The returned function calls `fn` once, captured anew. This is a real call: what it writes to arguments, modules and global variables
    stays, and random generators have moved on (`verify` puts them back). A graph whose backend raises runs uncompiled in it. The graphs
    that are tried while a failing graph is made smaller leave inputs and random generators as they were. If the call raises, the files
    stay, and a note of the error names them.

    Args:
        fn: function, method or module; or what `optimize` or `compile` made of it.
        folder: where the files are written; it is made if it is missing.
        backend: as in `optimize`; by default the one that `fn` is captured for, else that of `compile`. A file names it, so
            it must be registered by an installed package, or be a function that can be imported.
        data: whether the inputs' values are saved beside each file; else a file makes inputs of the same shapes and dtypes.

    Raises:
        InvalidOptimizeTarget: `fn` cannot be called.
        OSError: the folder cannot be written.

    Example:
        >>> report = minidynamo.repro(lambda x: x.sin() + 1, tempfile.mkdtemp(), backend="eager")(torch.ones(3))
        >>> report.failures
        ('',)
    """
    target, settings = _target_of(fn, backend)

    def call(*args: Any, **kwargs: Any) -> Reproduction:
        writing = Writing(settings, pathlib.Path(folder), data)
        anew = settings.with_backend(writing)
        aside = _C.StateAside(anew)
        captured = optimize.wrap(target, anew)
        try:
            captured(*args, **kwargs)
        except Exception as error:
            if writing.failing() or writing.unwritten():
                error.add_note(f"minidynamo.repro: {_reproduction(writing)}")
            raise
        finally:
            writing.add_guards(debug.codes_of(captured, resumed=True))
            aside.end()
        return _reproduction(writing)

    return call


def _reproduction(writing: Writing) -> Reproduction:
    failing = writing.failing()
    return Reproduction(tuple(failing), tuple(failing.values()), writing.unwritten())


_MOST_FILES = 20  # that one process writes for `config.repro`
_MOST_SECONDS = 60.0  # in which it makes their graphs smaller: the program waits
_written = 0
_seconds_left = _MOST_SECONDS
_has_complained = False


def write_failed(settings: CaptureConfig, graph_module: torch.fx.GraphModule, inputs: Sequence[Any], failure: BackendCompilerFailed) -> str:
    """Writes a graph whose backend raised to `config.repro`, and makes it smaller for as long as the backend raises. Never raises.

    Returns:
        The file, in words, which a note of the error has too; "" if none is written.
    """
    text = _write(settings, graph_module, inputs, Header(str(failure)), raises_alike(settings._compiler, failure))
    if text:
        failure.add_note(text)
    return text


def write_different(
    settings: CaptureConfig, graph_module: torch.fx.GraphModule, inputs: Sequence[Any], difference: GraphDifference
) -> str:
    """Writes a graph that differs from its operators when it is compiled to `config.repro`, and makes it smaller for as long as it
    differs. Never raises.

    Returns:
        The file, in words; "" if none is written.
    """
    fails = differs(settings._compiler, _tolerance(settings, None, None))
    return _write(settings, graph_module, inputs, Header(str(difference)), fails)


def _write(
    settings: CaptureConfig, graph_module: torch.fx.GraphModule, inputs: Sequence[Any], header: Header, fails: Fails
) -> str:
    global _written, _seconds_left, _has_complained
    if _written >= _MOST_FILES:
        return ""
    _written += 1
    writing = Writing(settings, pathlib.Path(config.repro), data=False)
    began = time.monotonic()
    try:
        with undisturbed():
            _C.call_disabled(writing.write_one, (graph_module, inputs, header, fails, _seconds_left), {})
    except Exception as error:
        if not _has_complained:
            _has_complained = True
            log_records.warn(f"minidynamo.config.repro: no file is written: {type(error).__name__}: {error}")
        return ""
    finally:
        _seconds_left -= time.monotonic() - began
    reproduction = _reproduction(writing)
    return f"minidynamo.repro: {', '.join(reproduction.paths)}" if reproduction.paths else f"minidynamo.repro: {reproduction}"
