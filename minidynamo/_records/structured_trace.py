"""Writes captures to torch's structured trace (the environment variable TORCH_TRACE), which tlparse shows as web pages.

The records have the names and fields of torch.compile's own, so that the tools that read these find graph, guards, graph
breaks, recompiles, phases and metrics in their places. What torch's compilers write meanwhile gets the same id.
"""

import contextlib
import inspect
import traceback
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch._guards import CompileContext, CompileId, compile_context
from torch._logging._internal import TorchLogsFormatter, trace_log, trace_structured

from minidynamo import _C
from minidynamo._capture import graph_source
from minidynamo._records import timeline
from minidynamo._records.breaks import log_text

if TYPE_CHECKING:
    from minidynamo._records.captures import Capture

_OURS = __file__.rsplit("/", 2)[0]  # the folder of the package


def is_on() -> bool:
    """True if a file or another handler takes the records: one that formats them as torch does, and knows where to."""
    return any(
        isinstance(handler.formatter, TorchLogsFormatter) and getattr(handler, "root_dir", "") is not None for handler in trace_log.handlers
    )


@contextlib.contextmanager
def under_id(capture: str) -> Iterator[None]:
    """Within, torch's logs and traces have the id of a capture, such as "3/1"; "" for none."""
    if not capture:
        yield
        return
    function, number = map(int, capture.split("/"))
    with compile_context(CompileContext(CompileId(frame_id=function, frame_compile_id=number))):
        yield


def write_start(capture: "Capture") -> None:
    """The place of the capture: the calls that led to it."""
    calls = [frame for frame in traceback.extract_stack() if not frame.filename.startswith(_OURS)]
    calls.append(traceback.FrameSummary(capture.filename, capture.line, capture.function))
    stack = traceback.StackSummary.from_list(calls)
    with under_id(capture.id):
        _write("dynamo_start", {"stack": torch._logging.structured.from_traceback(stack)})
        if capture.failed_guards:
            _write_artifact("recompile_reasons", "\n".join(capture.failed_guards))
        if capture.code is not None:
            with contextlib.suppress(OSError, TypeError):
                _write_artifact("source", inspect.getsource(capture.code))


def write_graph(graph_module: torch.fx.GraphModule) -> None:
    """The captured graph, before the backend compiles it."""
    with under_id(_C.open_capture_id()):
        _write("dynamo_output_graph", {"sizes": {}}, graph_module.print_readable(print_output=False))
        _write_artifact("graph_nodes", graph_source.graph_text(graph_module))


def write_end(capture: "Capture") -> None:
    """Writes the outcome of the capture."""
    codes = [] if capture.code is None else [capture.code, *_C.resume_codes(capture.code)]
    entries = [entry for code in codes for entry in _C.cache_entries(code)]
    breaks = [record for record in _C.uncaptured() if record["capture"] == capture.id]
    with under_id(capture.id):
        for entry in entries:
            if entry.id == capture.id:
                _write("dynamo_guards", {}, [{"code": guard} for guard in entry.guards])
                _write("dynamo_cpp_guards_str", {}, "\n".join(entry.guards) + f"\n\nGuard latency = {1e6 * entry.guard_seconds:.2f} us")
                _write_artifact("residual_code", entry.source)
        for record in breaks:
            _write_artifact("dynamo_graph_break_reason", log_text(record))
        _write("compilation_metrics", _metrics(capture, len(entries), breaks))
        for event in timeline.events([capture]):
            _write("chromium_event", {}, event)


def _metrics(capture: "Capture", entries: int, breaks: list[Any]) -> dict[str, Any]:
    """The fields of torch's metrics that have a meaning here."""
    failure = breaks[-1] if breaks and capture.outcome == "uncaptured" else None
    return {
        "compile_id": capture.id,
        "frame_key": str(capture.id.split("/")[0]),
        "co_name": capture.function,
        "co_filename": capture.filename,
        "co_firstlineno": capture.line,
        "cache_size": entries,
        "accumulated_cache_size": entries,
        "guard_count": capture.guards,
        "shape_env_guard_count": 0,
        "graph_op_count": capture.operators,
        "graph_node_count": capture.operators,
        "graph_input_count": 0,
        "start_time": capture.began,
        "entire_frame_compile_time_s": capture.seconds,
        "backend_compile_time_s": capture.phases["backend"] + capture.phases["imports"],
        "inductor_compile_time_s": None,
        "code_gen_time_s": capture.phases["codegen"],
        "fail_type": failure["reason"] if failure else capture.error.partition(":")[0] or None,
        "fail_reason": failure["detail"] if failure else capture.error or None,
        "fail_user_frame_filename": failure["filename"] if failure else None,
        "fail_user_frame_lineno": failure["line"] if failure else None,
        "non_compliant_ops": [],
        "compliant_custom_ops": [],
        "restart_reasons": [],
        "dynamo_time_before_restart_s": 0.0,
        "has_guarded_code": capture.outcome == "entry",
    }


def _write_artifact(name: str, payload: str) -> None:
    _write(
        "artifact", {"name": f"minidynamo_{name}" if not name.startswith(("dynamo", "recompile")) else name, "encoding": "string"}, payload
    )


def _write(name: str, metadata: dict[str, Any], payload: Any = None) -> None:
    trace_structured(name, lambda: metadata, payload_fn=lambda: payload)
