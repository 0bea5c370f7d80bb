"""minidynamo: native graph capture for PyTorch, a drop-in for `torch.compile`.

    import minidynamo

    @minidynamo.optimize("inductor")
    def step(x, y):
        return (x @ y).relu()

`optimize` and `compile` wrap functions, bound methods and modules; `explain` says what a call was captured into; `config`
holds the settings; `debug.cache_entries` shows what is cached for a function.
"""

from minidynamo import _built_for, _requirements

_requirements.check()

import torch  # noqa: E402  # the interpreter is checked first: its error is the clearer one

_requirements.check(torch.__version__, _built_for.TORCH)

from minidynamo import config, debug  # noqa: E402
from minidynamo._api import global_capture  # noqa: E402, F401  # global capture follows config.stress
from minidynamo._api.control import error_on_graph_break, run  # noqa: E402
from minidynamo._api.explain import Explanation, explain  # noqa: E402
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
from minidynamo._artifacts import load_artifacts, save_artifacts  # noqa: E402
from minidynamo._background import wait_for_compiled  # noqa: E402
from minidynamo._report import Report, report  # noqa: E402
from minidynamo._repro import Reproduction, repro  # noqa: E402
from minidynamo._verify import Verification, verify  # noqa: E402
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
