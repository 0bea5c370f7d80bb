"""CPython's own test suite under capture: each module must have the same outcome, test by test, as without.

    python tests/python/cpython_suite.py                          # all of MODULES, every frame captured
    python tests/python/cpython_suite.py test_iter test_list      # some
    python tests/python/cpython_suite.py --breaks 5 --seed 1      # a graph break before every fifth instruction as well
    python tests/python/cpython_suite.py --mode global            # global capture as users have it, without stress

A module runs in a process of its own, once plainly and once captured. Printed are the tests whose outcome differs and both times.
Tests that cannot be the same by design are in EXEMPT, each with its reason. Exit status 1: a difference that is not exempt.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

MODULES = """
test_generators test_iter test_list test_dict test_set test_tuple test_class test_exceptions test_with test_contextlib
test_dataclasses test_enum test_functools test_itertools test_collections test_deque test_operator test_sort test_fstring
test_format test_unpack test_unpack_ex test_extcall test_keywordonlyarg test_patma test_named_expressions test_scope test_super
test_property test_slice test_range test_builtin test_augassign test_int test_float test_math test_heapq test_copy test_weakref
test_coroutines test_asyncgen test_yield_from test_raise test_types test_userdict test_abc test_listcomps test_genexps test_global
test_decorators test_compare test_statistics test_json test_re test_grammar test_funcattrs test_metaclass test_isinstance
test_typing test_ordered_dict test_except_star test_call test_frame
""".split()

# What runs in seconds: a part for every day.
SMALL = """
test_iter test_list test_set test_tuple test_class test_with test_contextlib test_unpack test_unpack_ex test_extcall
test_keywordonlyarg test_named_expressions test_super test_property test_slice test_augassign test_raise test_userdict test_abc
test_listcomps test_genexps test_global test_decorators test_compare test_funcattrs test_metaclass test_isinstance test_yield_from
""".split()

# Test id (or its beginning, with a star behind) -> why it cannot be the same.
EXEMPT: dict[str, str] = {}

# Starts the suite in a process that has torch. The suite makes the paths of all modules absolute, which those of torch that are no
# plain modules do not bear.
RUN_SUITE = """
import runpy, sys, torch
for name, module in list(sys.modules.items()):
    if name.startswith("torch") and type(module) is not type(sys):
        del sys.modules[name]
sys.argv[0] = "test"
runpy.run_module("test", run_name="__main__", alter_sys=True)
"""


@dataclasses.dataclass
class Outcome:
    """What a module's tests did."""

    results: dict[str, str]  # test id -> passed, failed, error, skipped; of a doctest module the module alone
    seconds: float
    exit_status: int
    output: str


def run_module(module: str, mode: str, breaks: int = 0, seed: int = 0, timeout: float = 1200) -> Outcome:
    """Runs a module of CPython's suite in a process of its own.

    Args:
        mode: plain, global or stress.
        breaks, seed: as config.stress_breaks and config.stress_seed.
        timeout: seconds.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MINIDYNAMO")}
    environment["PYTHONHASHSEED"] = "0"
    command = [sys.executable, *(["-m", "test"] if mode == "plain" else ["-c", RUN_SUITE])]
    if mode == "global":
        environment |= {"MINIDYNAMO": "1", "MINIDYNAMO_BACKEND": "eager"}
    elif mode == "stress":
        environment |= {"MINIDYNAMO": "1", "MINIDYNAMO_STRESS": "1"}
        environment |= {"MINIDYNAMO_STRESS_BREAKS": str(breaks), "MINIDYNAMO_STRESS_SEED": str(seed)}
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.xml")
        began = time.perf_counter()
        try:
            run = subprocess.run(
                [*command, "--junit-xml", str(report), "--timeout", "0", module],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=timeout,
            )
            status, output = run.returncode, run.stdout.decode(errors="replace")
        except subprocess.TimeoutExpired as expired:
            status, output = -1, (expired.stdout or b"").decode(errors="replace") + "\n(timed out)"
        seconds = time.perf_counter() - began
        results = read_report(report) if report.exists() else {}
    return Outcome(results, seconds, status, output)


def read_report(report: pathlib.Path) -> dict[str, str]:
    """Test id -> outcome, from regrtest's JUnit file."""
    results = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = case.get("name", "")
        if not name:  # a subtest's, which its test's outcome says too
            continue
        outcome = "passed"
        if case.find("failure") is not None:
            outcome = "failed"
        elif case.find("error") is not None:
            outcome = "error"
        elif case.find("skipped") is not None or case.get("result") == "skipped":
            outcome = "skipped"
        results[name] = outcome
    return results


def is_exempt(test: str) -> bool:
    return any(test == entry or (entry.endswith("*") and test.startswith(entry[:-1])) for entry in EXEMPT)


def differences(plain: Outcome, captured: Outcome) -> list[str]:
    """The tests whose outcome differs and that are not exempt, in words."""
    if plain.results and not captured.results:
        return [f"all {len(plain.results)} tests: the run has no results, exit status {captured.exit_status}"]
    found = []
    for test in sorted(plain.results.keys() | captured.results.keys()):
        before, after = plain.results.get(test, "absent"), captured.results.get(test, "absent")
        if before != after and not is_exempt(test):
            found.append(f"{test}: {before} -> {after}")
    exempt = any(is_exempt(test) for test in plain.results)
    if not found and not exempt and (plain.exit_status == 0) != (captured.exit_status == 0):
        found.append(f"exit status {plain.exit_status} -> {captured.exit_status}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", help="of CPython's suite; all of MODULES if none is given")
    parser.add_argument("--mode", choices=["stress", "global"], default="stress")
    parser.add_argument("--breaks", type=int, default=0, metavar="N", help="a graph break before every N-th instruction")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=1200, help="seconds for each module")
    parser.add_argument("--output", type=pathlib.Path, help="a folder for what the captured runs print")
    options = parser.parse_args()
    modules = options.modules or MODULES

    def compare(module: str) -> tuple[str, Outcome, Outcome]:
        plain = run_module(module, "plain", timeout=options.timeout)
        captured = run_module(module, options.mode, options.breaks, options.seed, options.timeout)
        return module, plain, captured

    tests = wrong = 0
    plain_seconds = captured_seconds = 0.0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for module, plain, captured in pool.map(compare, modules):
            found = differences(plain, captured)
            tests += max(len(plain.results), 1)
            wrong += len(found)
            plain_seconds += plain.seconds
            captured_seconds += captured.seconds
            print(
                f"{module:24} {len(plain.results):5} tests  {plain.seconds:7.1f} s  {captured.seconds:7.1f} s  "
                f"{'same' if not found else f'{len(found)} differ'}",
                flush=True,
            )
            for line in found:
                print("   ", line, flush=True)
            if options.output:
                options.output.mkdir(parents=True, exist_ok=True)
                (options.output / f"{module}.txt").write_text(captured.output)
    print(
        f"{len(modules)} modules, {tests} tests, {wrong} differ; {plain_seconds:.1f} s plain, {captured_seconds:.1f} s "
        f"captured, {captured_seconds / max(plain_seconds, 1e-9):.1f}x"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
