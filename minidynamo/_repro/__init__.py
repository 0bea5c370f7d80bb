"""`repro(fn)(*args)`: one captured call, whose graphs are written as Python files for a bug report."""

import ast
import dataclasses
import os
import pathlib
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch

from minidynamo import _C, _api, _logging, config
from minidynamo._capture import CaptureConfig
from minidynamo._repro.inputs import NotWritable
from minidynamo._repro.source import file_text
from minidynamo._verify import _target_of, _tolerance
from minidynamo._verify.graphs import checked, copied, until
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

    The returned function calls `fn` once, captured anew. A graph whose backend raises is cut after the first operator with which
    it does, and runs uncompiled in this call.

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
        writing = _Writing(settings, pathlib.Path(folder), data)
        anew = settings.with_backend(writing)
        aside = _C.StateAside(anew)
        try:
            _api.wrap(target, anew)(*args, **kwargs)
        finally:
            aside.end()
        return writing.result()

    return call


_MOST_FILES = 20  # that one process writes for `config.repro`
_written = 0
_has_complained = False


def write_failed(
    settings: CaptureConfig, graph_module: torch.fx.GraphModule, inputs: Sequence[Any], failure: BackendCompilerFailed
) -> None:
    """Writes a graph whose backend raised to `config.repro`, and says in a note of the error where. Never raises."""
    global _written, _has_complained
    if _written >= _MOST_FILES:
        return
    _written += 1
    writing = _Writing(settings, pathlib.Path(config.repro), data=False)
    try:
        writing.write_one(graph_module, inputs, str(failure))
    except Exception as error:
        if not _has_complained:
            _has_complained = True
            _logging.warn(f"minidynamo.config.repro: no file is written: {type(error).__name__}: {error}")
        return
    failure.add_note(f"minidynamo.repro: {writing.result()}")


class _Writing:
    """A backend that writes each graph to a file before another backend compiles it."""

    def __init__(self, settings: CaptureConfig, folder: pathlib.Path, data: bool) -> None:
        self._settings = settings
        self._folder = folder
        self._data = data
        self._files: dict[pathlib.Path, str] = {}
        self._unwritten: list[str] = []

    def __call__(self, graph_module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        graph_module.meta.pop("pieces", None)
        kept = copied(graph_module)
        path = self._new_path()
        self._write(path, kept, example_inputs, "")

        def found(difference: Any) -> None:
            self._write(path, kept, example_inputs, str(difference))

        compiler, tolerance = self._settings._compiler, _tolerance(self._settings, None, None)
        try:
            return checked(graph_module, example_inputs, compiler, tolerance, found)
        except BackendCompilerFailed as failure:
            self._write(path, kept, example_inputs, str(failure))
            self._write(path, self._first_failing(kept, example_inputs, failure), example_inputs, str(failure))
            return kept.forward

    def write_one(self, graph_module: torch.fx.GraphModule, inputs: Sequence[Any], failure: str) -> None:
        """Writes one graph that failed."""
        self._write(self._new_path(), graph_module, inputs, failure)

    def result(self) -> Reproduction:
        """The files, without those of graphs that work where others fail."""
        failing = {path: failure for path, failure in self._files.items() if failure}
        for path in [path for path in self._files if failing and path not in failing]:
            path.unlink()
            path.with_suffix(".pt").unlink(missing_ok=True)
        files = failing or self._files
        return Reproduction(tuple(map(str, files)), tuple(files.values()), tuple(dict.fromkeys(self._unwritten)))

    def _first_failing(
        self, graph_module: torch.fx.GraphModule, inputs: Sequence[Any], failure: BackendCompilerFailed
    ) -> torch.fx.GraphModule:
        """The shortest beginning of the graph for which the backend raises the same kind of error; found by halving."""
        nodes = list(graph_module.graph.nodes)
        calls = [index for index, node in enumerate(nodes) if node.op.startswith("call_")]

        def fails(index: int) -> bool:
            try:
                self._settings._compiler(until(graph_module, index), list(inputs))
            except BackendCompilerFailed as error:
                return type(error.inner_exception) is type(failure.inner_exception)
            return False

        low, high = 0, len(calls) - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if fails(calls[middle]) else (middle + 1, high)
        return until(graph_module, calls[low]) if calls and fails(calls[low]) else graph_module

    def _new_path(self) -> pathlib.Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix="repro_", suffix=".py", dir=self._folder)
        os.close(number)
        return pathlib.Path(name)

    def _write(self, path: pathlib.Path, graph_module: torch.fx.GraphModule, inputs: Sequence[Any], failure: str) -> None:
        """Writes a file as a whole, so that an interruption leaves the one before."""
        try:
            data_file = path.with_suffix(".pt") if self._data else None
            text = file_text(
                graph_module, inputs, self._backend_text(), self._options_text(), failure, data_file.name if data_file else None
            )
            if data_file and not data_file.exists():
                torch.save(list(inputs), data_file)
        except NotWritable as why:
            self._unwritten.append(f"{why}{f' ({failure})' if failure else ''}")
            if path not in self._files:
                path.unlink(missing_ok=True)
            return
        partial = path.with_suffix(".partial")
        partial.write_text(text)
        partial.replace(path)
        self._files[path] = failure

    def _options_text(self) -> str:
        settings = {"mode": self._settings.mode, "options": self._settings.options}
        text = repr(settings)
        try:
            is_readable = ast.literal_eval(text) == settings
        except (ValueError, SyntaxError):
            is_readable = False
        if not is_readable:
            raise NotWritable("the backend's options have no source text")
        return text

    def _backend_text(self) -> str:
        backend = self._settings._backend
        if isinstance(backend, str):
            return backend
        module, name = getattr(backend, "__module__", "__main__"), getattr(backend, "__qualname__", "")
        if module == "__main__" or not name.isidentifier():
            raise NotWritable("the backend cannot be imported by name")
        return f"{module}:{name}"
