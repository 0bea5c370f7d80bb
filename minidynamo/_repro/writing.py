"""A backend that writes each graph to a file before another backend compiles it, and smaller graphs where that one fails."""

import ast
import contextlib
import dataclasses
import os
import pathlib
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import torch

from minidynamo import _C
from minidynamo._capture.capture_config import CaptureConfig
from minidynamo._repro.inputs import NotWritable, copied_inputs
from minidynamo._repro.minimise import MOST_SECONDS, Fails, differs, minimise, raises_alike
from minidynamo._repro.source import Header, file_text
from minidynamo._verify import _tolerance
from minidynamo._verify.graphs import GraphDifference, checked, copied
from minidynamo.exceptions import BackendCompilerFailed

LIMIT_MET = "A limit was met while the graph was made smaller; it may be larger than the failure needs."


@dataclasses.dataclass(frozen=True)
class _Written:
    """The parts that a file was made of, so that it can be written again with another header."""

    graph_module: torch.fx.GraphModule
    inputs: list[Any]
    header: Header
    is_grad_enabled: bool


class Writing:
    """A backend that writes each graph to a file before another backend compiles it."""

    def __init__(self, settings: CaptureConfig, folder: pathlib.Path, data: bool) -> None:
        self._settings = settings
        self._folder = folder
        self._data = data
        self._files: dict[pathlib.Path, _Written] = {}
        self._unwritten: list[str] = []
        self._path_of: dict[int, pathlib.Path] = {}  # by the address of the graph module that the backend was given
        self._given: list[torch.fx.GraphModule] = []

    def __call__(self, graph_module: torch.fx.GraphModule, example_inputs: list[Any]) -> Callable[..., Any]:
        graph_module.meta.pop("pieces", None)
        kept, inputs = copied(graph_module), copied_inputs(example_inputs)
        path = self._new_path()
        self._given.append(graph_module)
        self._path_of[id(graph_module)] = path
        self._write(path, kept, inputs, Header())
        compiler, tolerance = self._settings._compiler, _tolerance(self._settings, None, None)

        def found(difference: GraphDifference) -> None:
            operator = "" if difference.node is None else str(difference.node.format_node() or difference.node.name)
            self._write(path, kept, inputs, Header(str(difference), operator))
            self._minimise(path, differs(compiler, tolerance))

        try:
            return checked(graph_module, example_inputs, compiler, tolerance, found)
        except BackendCompilerFailed as failure:
            self._write(path, kept, inputs, Header(str(failure)))
            self._minimise(path, raises_alike(compiler, failure))
            return kept.forward

    def write_one(
        self,
        graph_module: torch.fx.GraphModule,
        inputs: Sequence[Any],
        header: Header,
        fails: Fails | None = None,
        most_seconds: float = MOST_SECONDS,
    ) -> None:
        """Writes one graph that failed; with `fails`, then makes it smaller, for `most_seconds` at most."""
        path = self._new_path()
        self._write(path, graph_module, list(inputs), header)
        if fails is not None:
            self._minimise(path, fails, most_seconds)

    def add_guards(self, codes: Sequence[Any]) -> None:
        """Writes each file again with the guards of the cached entry of its graph."""
        for entry in (entry for code in codes for entry in _C.cache_entries(code)):
            path = self._path_of.get(id(entry.graph_module))
            if path in self._files and entry.guards:
                written = self._files[path]
                with torch.set_grad_enabled(written.is_grad_enabled):
                    header = dataclasses.replace(written.header, guards=tuple(entry.guards))
                    self._write(path, written.graph_module, written.inputs, header)

    def failing(self) -> dict[str, str]:
        """The failures, by the path of the file; where nothing failed, "" for each file. Files of graphs that work go where others fail."""
        failing = [path for path, written in self._files.items() if written.header.failure]
        for path in [path for path in self._files if failing and path not in failing]:
            path.unlink()
            path.with_suffix(".pt").unlink(missing_ok=True)
            del self._files[path]
        return {str(path): written.header.failure for path, written in self._files.items()}

    def unwritten(self) -> tuple[str, ...]:
        """For each graph that has no file, why it has none."""
        return tuple(dict.fromkeys(self._unwritten))

    def _minimise(self, path: pathlib.Path, fails: Fails, most_seconds: float = MOST_SECONDS) -> None:
        if path not in self._files:
            return  # it cannot be written
        whole = self._files[path]

        def improved(graph_module: torch.fx.GraphModule, inputs: list[Any]) -> None:
            calls = [node for node in graph_module.graph.nodes if node.op.startswith("call_")]
            operator = str(calls[-1].format_node() or calls[-1].name) if calls else ""
            header = dataclasses.replace(whole.header, operator=whole.header.operator or operator)
            self._write(path, copied(graph_module), inputs, header)

        if minimise(whole.graph_module, whole.inputs, fails, improved, most_seconds=most_seconds):
            written = self._files[path]
            header = dataclasses.replace(written.header, failure=f"{written.header.failure}\n{LIMIT_MET}")
            self._write(path, written.graph_module, written.inputs, header)

    def _new_path(self) -> pathlib.Path:
        self._folder.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(prefix="repro_", suffix=".py", dir=self._folder)
        os.close(number)
        return pathlib.Path(name)

    def _write(self, path: pathlib.Path, graph_module: torch.fx.GraphModule, inputs: list[Any], header: Header) -> None:
        """Writes a file as a whole, so that an interruption leaves the one before."""
        data_file, partial = path.with_suffix(".pt"), path.with_suffix(".partial")
        try:
            text, data = file_text(
                graph_module, inputs, self._backend_text(), self._options_text(), header, data_file.name, with_values=self._data
            )
            if data:
                torch.save(data, partial)
                partial.replace(data_file)
            else:
                data_file.unlink(missing_ok=True)
        except NotWritable as why:
            if path not in self._files:
                self._unwritten.append(f"{why}{f' ({header.failure})' if header.failure else ''}")
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
            return
        partial.write_text(text)
        partial.replace(path)
        self._files[path] = _Written(graph_module, inputs, header, torch.is_grad_enabled())

    def _options_text(self) -> str:
        settings = {"mode": self._settings.settings.mode, "options": self._settings.settings.options}
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
