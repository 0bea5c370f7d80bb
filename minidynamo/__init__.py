"""minidynamo: native graph capture for PyTorch, a drop-in for `torch.compile`.

    import minidynamo

    @minidynamo.optimize("inductor")
    def step(x, y):
        return (x @ y).relu()

`optimize` and `compile` wrap functions, bound methods and modules; `explain` says what a call was captured into; `config`
holds the settings; `debug.cache_entries` shows what is cached for a function.
"""

import importlib
from typing import TYPE_CHECKING, Any

from minidynamo import _built_for, _requirements

_requirements.check()

import torch  # noqa: E402  # the interpreter is checked first: its error is the clearer one

_requirements.check(torch.__version__, _built_for.TORCH)

from minidynamo import config, debug  # noqa: E402
from minidynamo._api import global_capture  # noqa: E402, F401  # global capture follows config.stress
from minidynamo._api.control import error_on_graph_break, run  # noqa: E402
from minidynamo._api.module import OptimizedModule  # noqa: E402
from minidynamo._api.optimize import compile, compile_in_place, disable, is_compiling, optimize, reset, stats  # noqa: E402
from minidynamo._api.rules import (  # noqa: E402
    allow_in_graph,
    assume_constant_result,
    disallow_in_graph,
    graph_break,
    remove_rule,
    skip,
    substitute_in_graph,
    unskip,
)
from minidynamo.backends import list_backends, register_backend  # noqa: E402
from minidynamo.exceptions import (  # noqa: E402
    BackendCompilerFailed,
    DynamicSizeError,
    InvalidBackend,
    InvalidOptimizeTarget,
    MinidynamoError,
    RecompileError,
    Unsupported,
)

if TYPE_CHECKING:
    from minidynamo._api.explain import Explanation, explain
    from minidynamo._artifacts import load_artifacts, save_artifacts
    from minidynamo._background import wait_for_compiled
    from minidynamo._report import Report, report
    from minidynamo._repro import Reproduction, repro
    from minidynamo._verify import Verification, verify
else:

    def __getattr__(name: str) -> Any:
        """The public names that few programs use: each is imported when it is first asked for, since that is half of the time that the
        import of all takes."""
        if name not in _IMPORTED_WHEN_ASKED_FOR:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(_IMPORTED_WHEN_ASKED_FOR[name]), name)
        globals()[name] = value
        return value


_IMPORTED_WHEN_ASKED_FOR = {
    "Explanation": "minidynamo._api.explain",
    "Report": "minidynamo._report",
    "Reproduction": "minidynamo._repro",
    "Verification": "minidynamo._verify",
    "explain": "minidynamo._api.explain",
    "load_artifacts": "minidynamo._artifacts",
    "report": "minidynamo._report",
    "repro": "minidynamo._repro",
    "save_artifacts": "minidynamo._artifacts",
    "verify": "minidynamo._verify",
    "wait_for_compiled": "minidynamo._background",
}

__version__ = "0.1.0"


def __dir__() -> list[str]:
    """The public names, without those that this module imports for itself."""
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


__all__ = [
    "BackendCompilerFailed",
    "DynamicSizeError",
    "Explanation",
    "InvalidBackend",
    "InvalidOptimizeTarget",
    "MinidynamoError",
    "OptimizedModule",
    "RecompileError",
    "Report",
    "Reproduction",
    "Unsupported",
    "Verification",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "compile_in_place",
    "config",
    "debug",
    "disable",
    "disallow_in_graph",
    "error_on_graph_break",
    "explain",
    "graph_break",
    "is_compiling",
    "list_backends",
    "load_artifacts",
    "optimize",
    "register_backend",
    "remove_rule",
    "report",
    "repro",
    "reset",
    "run",
    "save_artifacts",
    "skip",
    "stats",
    "substitute_in_graph",
    "unskip",
    "verify",
    "wait_for_compiled",
]
