"""Artifacts: what Inductor compiled, kept on disk, and loaded by another process without importing the compiler.

A captured graph and its inputs' metadata give a key (`key`); under it lies an entry (`folder`) with the generated modules
(`generated_module`) and the calling convention (`runtime`), written down while the graph was compiled (`record`). What is not known of
a graph or of the compiler's output is not kept: the graph is then compiled in every process.
"""

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import torch

from minidynamo import config
from minidynamo._artifacts import folder, generated_module, runtime
from minidynamo._artifacts.generated_module import NotKept
from minidynamo._artifacts.key import key
from minidynamo._artifacts.record import Recorder
from minidynamo._artifacts.runtime import Boxed
from minidynamo._capture.conditions import hold
from minidynamo._capture.tracing_context import has_open_sizes, note
from minidynamo._records import log_records

Loaded = TypeVar("Loaded")

CompilePart = Callable[..., Any]
Compile = Callable[[Callable[[CompilePart], CompilePart], Callable[..., None]], Boxed]
"""Compiles a graph. It is given what goes around Inductor's function for one graph, and what wants AOTAutograd's metadata and the
conditions on sizes afterwards (`Recorder.forward_done`)."""

_MOST_FOR_ONE_KEY = 4
"""Entries that differ in their conditions on sizes alone. The last of them is overwritten."""

_used: set[str] = set()  # the keys of what this process has loaded or written
_counts = {"loaded": 0, "written": 0, "not_kept": 0, "damaged": 0}


def counts() -> dict[str, int]:
    """How many graphs of this process were loaded, written, could not be kept, and how many damaged files were met."""
    return dict(_counts)


class Compiled(NamedTuple):
    """A graph's function, and what has recorded how it was made."""

    function: Boxed
    recorder: Recorder | None = None

    def shortest(self) -> Boxed:
        """The function with as little around it as one that is loaded."""
        return self.function if self.recorder is None else self.recorder.function(self.function)


def load_or_compile(
    graph_module: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    options: dict[str, Any],
    compile_graph: Compile,
    when_built: Callable[[Callable[[], None]], None],
    with_backward: bool = False,
) -> Compiled:
    """The function of a graph: an artifact, or what the compiler makes, of which an artifact is written.

    Args:
        when_built: calls a function when the kernels that have been compiled so far are there.
        with_backward: the backward graph is compiled with the forward graph, instead of at the first backward pass.
    """
    name = None
    if may_be_used(options):
        try:
            name = name_of(graph_module, example_inputs, options)
        except NotKept as reason:
            _not_kept(str(reason))
    if name is None:
        return Compiled(compile_graph(lambda compile_part: compile_part, lambda *what: None))
    name, found = _load_for(name, example_inputs)
    if found is not None:
        _used.add(name)
        _counts["loaded"] += 1
        log_records.emit("artifacts", f"{name} is loaded")
        return Compiled(found)
    tensors = [x for x in example_inputs if isinstance(x, torch.Tensor)]
    shares_memory = len({x.untyped_storage()._cdata for x in tensors}) < len(tensors)
    recorder = Recorder(shares_memory, lambda entry, libraries: _write(name, entry, libraries), _not_kept, when_built)
    # The conditions on dynamic sizes that come of the backward graph have to be known when the capture gets its guards.
    with _asking_inductor(with_backward or has_open_sizes(graph_module)):
        return Compiled(compile_graph(recorder.around, recorder.forward_done), recorder)


def name_of(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], options: dict[str, Any]) -> str:
    """The key of a graph.

    Raises NotKept for one that is not kept.
    """
    try:
        return key(graph_module, example_inputs, options)
    except NotKept:
        raise
    except Exception as error:  # torch is not as it is known here, and goes on as it did
        raise NotKept(f"{type(error).__name__}: {error}") from error


def may_be_used(options: dict[str, Any]) -> bool:
    """True if artifacts are on, for a graph that is compiled with these options."""
    if not config.artifacts or options.get("fx_graph_cache") is False:
        return False
    if os.environ.get("TORCHINDUCTOR_FORCE_DISABLE_CACHES") == "1" or os.environ.get("TORCHINDUCTOR_FX_GRAPH_CACHE") == "0":
        return False
    settings = sys.modules.get("torch._inductor.config")
    return settings is None or (settings.fx_graph_cache and not settings.force_disable_caches)


@contextlib.contextmanager
def _asking_inductor(with_backward: bool) -> Iterator[None]:
    """Without AOTAutograd's cache on disk, which would answer for Inductor, whose output is to be recorded. Inductor's stays."""
    from torch._functorch import config as functorch_config

    changes = {"enable_autograd_cache": False}
    if with_backward and hasattr(functorch_config, "force_non_lazy_backward_lowering"):
        changes["force_non_lazy_backward_lowering"] = True
    with functorch_config.patch(changes):
        yield


def has(key: str, example_inputs: Sequence[Any]) -> bool:
    """True if there is an entry of a key whose conditions hold for the inputs."""
    return _find(key, example_inputs)[1] is not None


def _load_for(key: str, example_inputs: Sequence[Any]) -> tuple[str, Boxed | None]:
    """The name and the function of the first entry of a key whose conditions hold for the inputs; or the name for a new one, and None."""
    name, entry = _find(key, example_inputs)
    function = None if entry is None else _function_of(name, entry)
    if function is not None:
        note(entry["conditions"])
    return name, function


def _find(key: str, example_inputs: Sequence[Any]) -> tuple[str, Any]:
    for number in range(_MOST_FOR_ONE_KEY):
        name = key if number == 0 else hashlib.sha256(f"{key} {number}".encode()).hexdigest()
        entry = _read(name)
        if entry is None:
            break
        if hold(entry["conditions"], example_inputs) and hold(entry["strides"], example_inputs):
            return name, entry
    return name, None


def _read(name: str) -> Any:
    return _or_none(name, lambda: folder.read(name))


def _function_of(name: str, entry: Any) -> Boxed | None:
    def put_together() -> Boxed:
        modules = [generated_module.put_together(module, _library) for module in entry["modules"]]
        return runtime.boxed_callable_of(entry["convention"], *modules, *[None] * (2 - len(modules)))

    return _or_none(name, put_together)


def _or_none(name: str, load: Callable[[], Loaded]) -> Loaded | None:
    """Loads a part of an entry. If that fails, the log says so, and the graph is compiled."""
    try:
        return load()
    except MemoryError:
        raise
    except folder.Untrusted as error:
        _warn_once(str(error))
    except Exception as error:
        _counts["damaged"] += 1
        _warn_once(str(error) if isinstance(error, folder.Damaged) else f"the artifact {name} cannot be used: {error!r}")
    return None


_warned: set[str] = set()


def _warn_once(text: str) -> None:
    if text not in _warned:
        _warned.add(text)
        log_records.warn(text)


def _library(digest: str) -> Any:
    return generated_module.load_library(digest, lambda: folder.library_path(digest))


def _write(name: str, entry: dict[str, Any], libraries: dict[str, bytes]) -> None:
    try:
        folder.write(name, entry, libraries)
    except (OSError, ValueError, folder.Untrusted) as error:
        _not_kept(f"{type(error).__name__}: {error}")
    else:
        _used.add(name)
        _counts["written"] += 1
        log_records.emit("artifacts", f"{name} is written")


def save_artifacts(path: str | os.PathLike[str]) -> int:
    """Writes what this process compiled with Inductor, or loaded, to one file: for the image of a server, or a machine of the same kind.

    Args:
        path: the file; one that is there is overwritten.

    Returns:
        How many compiled graphs it has. A graph that is differentiated counts when its backward has run once.

    Raises:
        OSError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     count = save_artifacts(f"{folder}/model.artifacts")
        ...     load_artifacts(f"{folder}/model.artifacts") == count
        True
    """
    from minidynamo._artifacts import bundle

    try:
        return bundle.save(path, set(_used))
    except folder.Untrusted as error:
        raise PermissionError(str(error)) from error


def load_artifacts(path: str | os.PathLike[str]) -> int:
    """Takes the artifacts of a file that `save_artifacts` has written into the folder, where captures find them.

    They are of use to processes with the same versions of torch, minidynamo and Python, processor, number of threads and settings.
    Loading one runs code from the file: take none from people whom you would not let run a program.

    Args:
        path: the file.

    Returns:
        How many compiled graphs it has.

    Raises:
        ValueError: the file is none of `save_artifacts`, or damaged.
        OSError: the file cannot be read, or `config.artifact_folder` not written to.
    """
    from minidynamo._artifacts import bundle

    try:
        return bundle.load(path)
    except folder.Untrusted as error:
        raise PermissionError(str(error)) from error


def _not_kept(reason: str) -> None:
    _counts["not_kept"] += 1
    log_records.emit("artifacts", f"a compiled graph is not kept: {reason}")
