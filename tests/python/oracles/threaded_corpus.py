"""Runs programs of tests/programs in eight threads at once, captured, and compares each run with eager ones made before.

    python threaded_corpus.py THREADS EVERY [name...]

EVERY: each thread runs every n-th program, another n-th in each (1: all programs in each thread). Prints what differs.

Modules are loaded and inputs made before the threads start, since random generators and the table of modules belong to the
process. For the same reason nothing is told of printed text, warnings and generators.
"""

import contextlib
import importlib.util
import io
import pathlib
import sys
import threading
import traceback
import types
import warnings
from collections.abc import Callable
from typing import Any

import differential
import torch

import minidynamo

# Programs that use what belongs to one thread, or to the process, so that an eager run in another thread differs too.
LEFT_OUT = {
    "effect_thread_local": "a threading.local that the loading thread filled",
    "threading_local_read": "a threading.local that the loading thread filled",
    "recompile_context_and_reference": "context variables that its inputs set for the thread that makes them",
    "mode_autocast_module": "another thread's end of autocast empties the process's cache of casts: gradients round otherwise, eagerly too",
    "warnings_ignored_inside": "filters of warnings, which all threads share: another thread's may be in force, eagerly too",
    "context_attention_kernel": "chooses attention kernels for the process: another thread's attention rounds otherwise",
    "typing_cache_cleared": "clears the caches of typing, which all threads share",
}


class Run:
    """A program loaded, with the arguments of its calls."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        differential._seed()
        spec = importlib.util.spec_from_file_location("__program__", path)
        assert spec is not None and spec.loader is not None
        self.program: types.ModuleType = importlib.util.module_from_spec(spec)
        sys.modules["__program__"] = self.program
        spec.loader.exec_module(self.program)
        self.calls = []
        for make_inputs in getattr(self.program, "calls", [self.program.inputs] * 2):
            arguments = make_inputs()
            self.calls.append((arguments, self.program.keywords() if hasattr(self.program, "keywords") else {}))

    def observe(self, wrap: Callable[[Any], Any]) -> differential.Observation:
        portrait = differential.Portrait(True)
        call = differential.Caller(portrait, str(self.path))
        target = wrap(self.program.f)
        for index, (arguments, keywords) in enumerate(self.calls):
            call(f"call {index}", target, arguments, keywords)
        call.draw_the_rest(self.program)
        return differential.Observation(portrait.lines, portrait.tensors)


def generators() -> list[str]:
    return differential._random_states() + [differential._modes()]


def main() -> int:
    threads, every, names = int(sys.argv[1]), int(sys.argv[2]), set(sys.argv[3:])
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    paths = [path for path in differential.PROGRAMS if not names or path.stem in names]
    expected: dict[pathlib.Path, differential.Observation] = {}
    runs: list[list[Run]] = [[] for _ in range(threads)]
    for number, path in enumerate(paths):
        takers = [thread for thread in range(threads) if (number + thread) % every == 0]
        text = path.read_text()
        if not takers or path.stem in LEFT_OUT or "torch.library" in text or "TORCH_LIBRARY" in text:
            continue  # an operator's name is taken for the whole process
        if "torch.cond" in text or "_higher_order_ops" in text:
            continue  # run eagerly, torch traces them, for which it patches torch.nn.Module
        first = Run(path)
        before = generators()
        observation = first.observe(lambda target: target)
        if generators() != before:
            continue  # draws random numbers, or changes a mode of the process, when it is called
        again = Run(path).observe(lambda target: target)
        if differential.differences(observation, again, exact=True):
            continue  # numbers of hooks and the like, which count over the process
        expected[path] = observation
        for thread in takers:
            runs[thread].append(Run(path))
    found: list[str] = []
    barrier = threading.Barrier(threads)

    def work(thread: int) -> None:
        barrier.wait()
        mine = runs[thread]
        start = thread * len(mine) // threads
        for run in mine[start:] + mine[:start]:
            try:
                actual = run.observe(lambda target: minidynamo.compile(target, backend="eager"))
                differences = differential.differences(expected[run.path], actual, exact=True)
            except BaseException:
                differences = [traceback.format_exc()]
            found.extend(f"{run.path.stem} in thread {thread}: {difference}" for difference in differences)

    sys.setswitchinterval(1e-4)
    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    with contextlib.redirect_stdout(io.StringIO()):  # the programs' prints would hide the differences
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    print("\n".join(found))
    print(f"{sum(map(len, runs))} runs of {len(expected)} programs, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
