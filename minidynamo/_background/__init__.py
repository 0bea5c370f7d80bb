"""Compiling in the background: a graph runs uncompiled until another process has compiled it (`config.compile_in_background`).

The other process (`worker`, one of a few in `pool`) gets the graph and a description of its inputs (`parcel`) and writes what it compiles
into the folder of artifacts. The first call after that loads it from there, as a process does that is started again. So the program
neither waits for the compiler nor shares Python's lock with it, and what the compiler changes in its process is not seen.

Where sizes are dynamic, the compiler has conditions on them, which are guards. So the call that finds such a graph compiled has the next
one captured again: that capture loads the graph, and has its conditions.
"""

import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch

from minidynamo import _C, _artifacts
from minidynamo._artifacts.generated_module import NotKept
from minidynamo._background import parcel
from minidynamo._background.pool import Job, Pool
from minidynamo._capture.tracing_context import has_open_sizes
from minidynamo._records import log_records
from minidynamo.backends._pieces import CompiledSteps, Program
from minidynamo.backends._undisturbed import undisturbed

CompileHere = Callable[[Sequence[Any]], Callable[..., Any]]

_compiled_here_only: dict[str, str] = {}  # by the name of a graph: why no other process can compile it


def compiled_later(
    graph_module: torch.fx.GraphModule,
    program: Program | None,
    example_inputs: Sequence[Any],
    options: dict[str, Any],
    run_uncompiled: Callable[..., Any],
    compile_here: CompileHere,
) -> Callable[..., Any] | None:
    """A function that runs the graph uncompiled until it is compiled, or None if it has to be compiled in this process, or is already.

    Args:
        program: the graph's pieces, if it is compiled by pieces.
        options: entries of Inductor's configuration.
        run_uncompiled: the graph.
        compile_here: what compiles the graph in this process for given inputs. It is called when the artifacts are there.
    """
    jobs: list[Job] = []

    def send(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> None:
        name = _artifacts.name_of(module, inputs, options)
        if name in _compiled_here_only:
            raise NotKept(_compiled_here_only[name])
        if not _artifacts.has(name, inputs):
            jobs.append(Pool.current.submit(name, parcel.packed(module, inputs, options, name)))

    if not _artifacts.may_be_used(options):
        return None
    try:
        if program is None:
            send(graph_module, example_inputs)
        else:
            CompiledSteps(program, example_inputs, send)
    except (NotKept, parcel.CannotBeSent) as reason:
        log_records.emit("artifacts", f"a graph is compiled before its first call, not in the background: {reason}")
        return None
    if not jobs:
        return None
    if has_open_sizes(graph_module):
        compile_here = functools.partial(_at_next_capture, weakref.ref(graph_module), run_uncompiled)
    return _switching(jobs, run_uncompiled, compile_here)


def _at_next_capture(
    graph_module: "weakref.ref[torch.fx.GraphModule]", run_uncompiled: Callable[..., Any], inputs: Sequence[Any]
) -> Callable[..., Any]:
    _C.capture_again(graph_module())
    return run_uncompiled


class _CannotBeCompiled(Exception):
    pass


def _switching(jobs: list[Job], run_uncompiled: Callable[..., Any], compile_here: CompileHere) -> Callable[..., Any]:
    run = run_uncompiled
    waits = True
    one_switches = threading.Lock()

    def switch(inputs: Sequence[Any]) -> None:
        nonlocal run, waits
        if not one_switches.acquire(blocking=False):
            return  # another thread is at it
        try:
            if not waits:
                return
            for job in jobs:
                if job.error:
                    raise _CannotBeCompiled(job.error)
                if job.hindrance:
                    _compiled_here_only[job.name] = job.hindrance
                    log_records.emit("artifacts", f"a graph is compiled by this call, not in the background: {job.hindrance}")
            with undisturbed():
                run = _C.call_disabled(compile_here, (inputs,), {})
            waits = False
        except Exception as error:
            waits = False
            text = str(error) if isinstance(error, _CannotBeCompiled) else f"{type(error).__name__}: {error}"
            log_records.warn(f"a graph could not be compiled in the background, and runs uncompiled: {text}")
        finally:
            one_switches.release()

    def call(*inputs: Any) -> Any:
        if waits and all(job.is_done for job in jobs):
            switch(inputs)
        return run(*inputs)

    return call


def wait_for_compiled(timeout: float | None = None) -> bool:
    """Waits until no graph is being compiled in the background (`config.compile_in_background`). The next call of each runs compiled.

    Args:
        timeout: seconds; None waits for as long as it takes.

    Returns:
        Whether all are done.
    """
    return Pool.current.wait(timeout)
