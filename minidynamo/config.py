"""Settings, read when a function is wrapped or a frame is captured; never on the path of a cached call.

    minidynamo.config.suppress_errors = True
    with minidynamo.config.patch(recompile_limit=2):
        ...

Assigning an unknown name or a value of a wrong type raises at once, naming the setting. Names and defaults are the module
variables below; each has its check in `_CHECKS`.
"""

import contextlib
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from minidynamo._api import environment

_MOST = 2**63 - 1  # largest number: the native part's integers
LOG_TOPICS: Mapping[str, str] = {
    "captures": "each capture in one line: what it is of, why, what came of it, and the time of each phase",
    "breaks": "each graph break and each frame that runs uncaptured, with its reason and place",
    "recompiles": "for each capture after the first of a function, the guards that no longer held",
    "graph": "each captured graph",
    "guards": "the guards of each cache entry",
    "dynamic": "sizes and numbers that a capture leaves open, and what it asks of them",
    "code": "the residual code that runs in place of the original",
    "regions": "which parts of a graph are equal, so that Inductor compiles them once",
    "artifacts": "what is read from and written to the folder of compiled graphs",
}
"""What can be logged, and what each topic says."""

LOG_LEVELS: Mapping[str, frozenset[str]] = {
    "info": frozenset({"captures", "breaks", "recompiles"}),
    "debug": frozenset(LOG_TOPICS),
}
"""Names for several topics: what happened, and everything."""


def _topics(text: str) -> frozenset[str]:
    return frozenset(topic.strip() for topic in text.split(",") if topic.strip())


def _logs_help() -> str:
    width = max(map(len, LOG_TOPICS))
    topics = [f"  {topic:{width}}  {text}" for topic, text in LOG_TOPICS.items()]
    levels = [f"  {level:{width}}  {', '.join(topic for topic in LOG_TOPICS if topic in names)}" for level, names in LOG_LEVELS.items()]
    return "\n".join(["MINIDYNAMO_LOGS takes topics, separated by commas:", *topics, "and names for several of them:", *levels])


suppress_errors: bool = False
"""Run a frame eagerly when the backend fails on its graph, instead of raising BackendCompilerFailed."""

disabled: bool = False
"""`optimize` and `compile` hand back what they were given, and nothing is captured. torch's environment variables
TORCH_COMPILE_DISABLE=1 and TORCHDYNAMO_DISABLE=1 set it at import."""

recompile_limit: int = 8
"""How many entries a code object may have under one configuration before its frames run as they are."""

automatic_dynamic_shapes: bool = True
"""Where a call differs from those that were captured in sizes of tensors or values of ints alone, capture once more with these open, so
that one entry is good for all of them. Off, and with `dynamic=False`, each gets an entry of its own."""

capture_scalar_outputs: bool = True
"""Ints that `item()`, `int()` and `tolist()` read out of tensors stay in the graph, as numbers that only its run knows. Off, the graph
ends there."""

capture_dynamic_output_shape_ops: bool = True
"""Results whose sizes depend on values (`nonzero`, boolean masks, `unique`, `repeat_interleave`...) stay in the graph. Off, it ends
there."""

stop_where_slower: bool = True
"""Where calls of a function with graph breaks, or that no entry fits, take longer captured than uncaptured, capture it no more. A few
calls are timed in both ways; under `fullgraph` none."""

error_on_recompile: bool = False
"""Raise RecompileError where a function that has been captured would be captured again."""

fail_on_recompile_limit: bool = False
"""Raise RecompileError where the recompile limit is reached, instead of running the frame as it is."""

trace_instruction_limit: int = 20_000_000
"""How many bytecode instructions one trace may evaluate before it is given up."""

trace_node_limit: int = 200_000
"""How many graph nodes one trace may record before it is given up."""

trace_depth_limit: int = 400
"""How deep traced Python calls may nest before a trace is given up."""

capture_wait: float = 30.0
"""How many seconds a call waits where another thread captures the same function, or has a backend at work. After that it runs
uncaptured (under `fullgraph`, it is captured all the same)."""

progress_interval: float = 10.0
"""After how many seconds, and how often, a capture that goes on for long says in the log where it is."""

force_break_at: int = 0
"""For tests: a graph break before the n-th instruction of every trace, counted over all its frames; 0 asks for none."""

repro: str = ""
"""A folder for files that reproduce a failing backend (`minidynamo.repro`): where a backend raises, the graph is written there, and a note
of the error names the file. At most 20 files for each process; "" for none."""

verify: bool = False
"""Every call of a compiled graph is compared with the graph run operator by operator, from one state; a warning says where they differ,
with the operator and the line of the program (`minidynamo.verify` compares whole calls). Read when a graph is compiled. The
environment variable MINIDYNAMO_VERIFY=1 sets it at import."""

stress: bool = False
"""For tests: capture every frame that the process runs, tensors or not and whoever's code it is, with the `eager` backend.
MINIDYNAMO_STRESS=1 beside MINIDYNAMO=1 sets it when the process starts."""

stress_breaks: int = 0
"""For tests, under `stress`: a graph break before every n-th instruction of every trace; 0 asks for none. The environment variable
MINIDYNAMO_STRESS_BREAKS sets it at import."""

stress_seed: int = 0
"""For tests, under `stress_breaks`: another seed, other places. The environment variable MINIDYNAMO_STRESS_SEED sets it at import."""

mirror: bool = False
"""For tests: every check of guards is made a second time in the plain slow way; `debug.mirror_differences()` tells where the answers
differ. MINIDYNAMO_MIRROR=1 in the environment sets it at import, and a difference then ends the process."""

logs: frozenset[str] = frozenset()
"""What is logged: any of LOG_TOPICS, or of LOG_LEVELS for several. The environment variable MINIDYNAMO_LOGS (comma separated) sets it at
import; MINIDYNAMO_LOGS=help prints the topics."""


regions: bool = True
"""Compile layers of a model that are equal once, where the backend is Inductor (docs/regions.md). The environment variable
MINIDYNAMO_REGIONS=0 switches it off at import."""

artifacts: bool = True
"""Keep what Inductor compiles on disk, and load it in other processes without the compiler. The environment variable
MINIDYNAMO_ARTIFACTS=0 switches it off at import."""

artifact_folder: str = ""
"""Where artifacts are kept; "" stands for `minidynamo` in the user's folder for caches (XDG_CACHE_HOME, else ~/.cache). The environment
variable MINIDYNAMO_ARTIFACT_FOLDER sets it at import."""

compile_in_background: bool = False
"""A graph runs uncompiled until another process has compiled it, where the backend is Inductor (docs/artifacts.md). The environment
variable MINIDYNAMO_COMPILE_IN_BACKGROUND=1 switches it on at import."""

artifact_limit: int = 4 << 30
"""Bytes that artifacts may take on the disk. Above it, those that were not used for longest are removed."""

skip: tuple[str, ...] = ()
"""Modules, files and glob patterns whose functions are neither captured nor traced into (`minidynamo.skip`). The environment
variable MINIDYNAMO_SKIP (comma separated) sets it at import."""


def is_pattern(entry: str) -> bool:
    """True if an entry of `skip` is a glob pattern."""
    return any(character in entry for character in "*?[")


def skip_entries(values: Iterable[object]) -> tuple[str, ...]:
    """Entries for `skip` in the form in which they are kept: paths are absolute.

    Raises TypeError or ValueError for what is neither a module's name nor a path nor a pattern.
    """
    return tuple(_skip_entry(value) for value in values)


def _skip_entry(value: object) -> str:
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError("must be a collection of module names and paths, or a comma separated string")
    entry = os.fspath(value)
    if not isinstance(entry, str) or not entry:
        raise ValueError("must name modules or paths")
    is_path = not isinstance(value, str) or os.sep in entry or entry.startswith("~") or entry.endswith(".py")
    if is_pattern(entry):
        return entry if entry[0] in "*?[" else os.path.join(os.getcwd(), os.path.expanduser(entry))
    if is_path:
        return os.path.abspath(os.path.expanduser(entry))
    if not all(part.isidentifier() for part in entry.split(".")):
        raise ValueError(f"has {entry!r}, which is neither a module's name nor a path")
    return entry


def _boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("must be a bool")
    return value


def _positive(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("must be an int")
    if not 1 <= value <= _MOST:
        raise ValueError("must be at least 1" if value < 1 else f"must be at most {_MOST}")
    return value


def _depth(value: object) -> int:
    return min(_positive(value), 1_000_000)  # far more than any stack holds


def _log_topics(value: object) -> frozenset[str]:
    if isinstance(value, str):
        value = _topics(value)
    if not isinstance(value, (set, frozenset, list, tuple)) or not all(isinstance(topic, str) for topic in value):
        raise TypeError("must be a set of strings, or a comma separated string")
    value = {topic for name in value for topic in LOG_LEVELS.get(name, (name,))}
    unknown = sorted(value - set(LOG_TOPICS))
    if unknown:
        known = (*LOG_TOPICS, *LOG_LEVELS)
        guesses = ", ".join(topic + environment.nearest(topic, known) for topic in unknown)
        raise ValueError(f"has unknown topics {guesses}; known are {', '.join(known)}")
    return frozenset(value)


def _skip_list(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [entry.strip() for entry in value.split(",") if entry.strip()]
    if not isinstance(value, (set, frozenset, list, tuple)):
        raise TypeError("must be a collection of module names and paths, or a comma separated string")
    return tuple(dict.fromkeys(skip_entries(value)))


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("must be a number of seconds")
    if not value >= 0:
        raise ValueError("must not be negative")
    return float(value)


def _count_in(text: str) -> int:
    return _count(int(text) if text.strip().isdecimal() else text)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError("must be a number that is not negative, and fits in 63 bits")
    return value


def _folder(value: object) -> str:
    if not isinstance(value, (str, os.PathLike)) or not isinstance(text := os.fspath(value), str):
        raise TypeError("must be a path")
    return os.path.abspath(os.path.expanduser(text)) if text else ""


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("must be 0 or 1")
    return text == "1"


_CHECKS: dict[str, Callable[[object], Any]] = {
    "suppress_errors": _boolean,
    "disabled": _boolean,
    "recompile_limit": _positive,
    "automatic_dynamic_shapes": _boolean,
    "capture_scalar_outputs": _boolean,
    "capture_dynamic_output_shape_ops": _boolean,
    "stop_where_slower": _boolean,
    "error_on_recompile": _boolean,
    "fail_on_recompile_limit": _boolean,
    "trace_instruction_limit": _positive,
    "trace_node_limit": _positive,
    "trace_depth_limit": _depth,
    "capture_wait": _seconds,
    "progress_interval": _seconds,
    "force_break_at": _count,
    "repro": _folder,
    "verify": _boolean,
    "stress": _boolean,
    "stress_breaks": _count,
    "stress_seed": _count,
    "mirror": _boolean,
    "logs": _log_topics,
    "regions": _boolean,
    "artifacts": _boolean,
    "artifact_folder": _folder,
    "artifact_limit": _positive,
    "compile_in_background": _boolean,
    "skip": _skip_list,
}


_listeners: dict[str, Callable[[], None]] = {}


def when_changed(name: str, listener: Callable[[], None]) -> None:
    """Calls `listener` now and whenever the setting may have changed. One for each setting."""
    _listeners[name] = listener
    listener()


def _tell(names: Iterable[str]) -> None:
    for name in names:
        if name in _listeners:
            _listeners[name]()


TORCH_NAMES: dict[str, str] = {
    "cache_size_limit": "recompile_limit",
    "accumulated_cache_size_limit": "recompile_limit",
    "accumulated_recompile_limit": "recompile_limit",
    "disable": "disabled",
    "fail_on_cache_limit_hit": "fail_on_recompile_limit",
    "fail_on_recompile_limit_hit": "fail_on_recompile_limit",
    "error_on_nested_fx_trace": "",
    "skipfiles_inline_module_allowlist": "skip",
    "verbose": "logs",
    "log_level": "logs",
    "output_code": "logs",
    "print_graph_breaks": "logs",
    "report_guard_failures": "logs",
    "dynamic_shapes": "",
    "assume_static_by_default": "",
    "specialize_int": "",
    "guard_nn_modules": "",
    "inline_inbuilt_nn_modules": "",
    "allow_rnn": "",
    "trace_numpy": "",
    "optimize_ddp": "",
}
"""Settings of `torch._dynamo.config`, and what they are called here; "" where there is nothing to set."""


def _checked(name: str, value: object) -> Any:
    check = _CHECKS.get(name)
    if check is None:
        raise AttributeError(f"minidynamo.config has no setting {name!r}{_about(name)}; settings are {', '.join(_CHECKS)}")
    try:
        return check(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"minidynamo.config.{name} {error}, got {value!r}") from None


def _about(name: str) -> str:
    if name not in TORCH_NAMES:
        return environment.nearest(name, _CHECKS)
    ours = TORCH_NAMES[name]
    return f": torch's setting of that name is called {ours} here" if ours else ", which is one of torch's that needs no setting here"


def _missing(name: str) -> Any:
    raise AttributeError(f"minidynamo.config has no setting {name!r}{_about(name)}; settings are {', '.join(_CHECKS)}")


def to_dict() -> dict[str, Any]:
    """The settings and their present values."""
    return {name: globals()[name] for name in _CHECKS}


@contextlib.contextmanager
def patch(**changes: Any) -> Iterator[None]:
    """Changes settings for the extent of a `with` block, or of a decorated function.

    All values are checked before the first is set. Example: `with minidynamo.config.patch(recompile_limit=1): ...`
    """
    checked = {name: _checked(name, value) for name, value in changes.items()}
    before = {name: globals()[name] for name in checked}
    globals().update(checked)
    _tell(checked)
    try:
        yield
    finally:
        globals().update(before)
        _tell(before)


class _Settings(types.ModuleType):
    """The module's class, so that plain assignment to a setting is checked."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name.startswith("__") and name.endswith("__")):
            value = _checked(name, value)
        super().__setattr__(name, value)
        _tell((name,))

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"minidynamo.config.{name} cannot be deleted")


globals()["__getattr__"] = _missing  # not as a function of that name, by which type checkers would take any name for a setting
sys.modules[__name__].__class__ = _Settings

DEFAULTS: dict[str, Any] = to_dict()
"""What the settings are without environment variables."""

environment.warn_of_unknown()
disabled = any(os.environ.get(name, "") == "1" for name in ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE"))
if os.environ.get("MINIDYNAMO_LOGS") == "help":
    print(_logs_help(), file=sys.stderr)
else:
    logs = environment.read_list("MINIDYNAMO_LOGS", _log_topics)
skip = environment.read_list("MINIDYNAMO_SKIP", _skip_list)
regions = environment.read("MINIDYNAMO_REGIONS", _switch, True)
artifacts = environment.read("MINIDYNAMO_ARTIFACTS", _switch, True)
artifact_folder = environment.read("MINIDYNAMO_ARTIFACT_FOLDER", _folder, "")
compile_in_background = environment.read("MINIDYNAMO_COMPILE_IN_BACKGROUND", _switch, False)
repro = environment.read("MINIDYNAMO_REPRO", _folder, "")
verify = environment.read("MINIDYNAMO_VERIFY", _switch, False)
stress_breaks = environment.read("MINIDYNAMO_STRESS_BREAKS", _count_in, 0)
stress_seed = environment.read("MINIDYNAMO_STRESS_SEED", _count_in, 0)
mirror = environment.read("MINIDYNAMO_MIRROR", _count_in, 0) > 0
