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
import fnmatch
import importlib
import multiprocessing
import os
import pathlib
import runpy
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
""".split()  # noqa: SIM905

# What runs in seconds: a part for every day.
SMALL = """
test_iter test_list test_set test_tuple test_class test_with test_contextlib test_unpack test_unpack_ex test_extcall
test_keywordonlyarg test_named_expressions test_super test_property test_slice test_augassign test_raise test_userdict test_abc
test_listcomps test_genexps test_global test_decorators test_compare test_funcattrs test_metaclass test_isinstance test_yield_from
""".split()  # noqa: SIM905

# Pattern of test ids -> why they cannot be the same.
DEATH = "waits for the death of an object that a trace, or the frame that CPython made for the call, still holds"
FRAMES = "looks at frames, which residual code has others of"
EXEMPT: dict[str, str] = {
    "test.test_generators.SignalAndYieldFromTest.test_raise_and_yield_from": "a signal has to arrive between two C calls",
    "test.test_dict.DictTest.test_container_iterator": DEATH,
    "test.test_deque.TestBasic.test_container_iterator": DEATH,
    "test.test_dict.DictTest.test_oob_indexing_dictiter_iternextitem": "a finalizer that runs in the middle of an instruction",
    "test.test_dict.DictTest.test_splittable_popitem": "asks for the size of a dict's table",
    "test.test_exceptions.ExceptionTests.testExceptionCleanupState": DEATH,
    "test.test_exceptions.ExceptionTests.test_recursion_normalizing_exception": FRAMES,
    "test.test_exceptions.ExceptionTests.test_unraisable": DEATH,
    "test.test_exceptions.PEP626Tests.test_lineno_after_with": FRAMES,
    "test.test_exceptions.PEP626Tests.test_lineno_in_named_except": FRAMES,
    "test.test_dataclasses.TestCase.test_helper_astuple": "wants two equal tuples of constants to be two objects",
    "test.test_functools.TestLRUC.test_lru_cache_weakrefable": DEATH,
    "test.test_functools.TestLRUPy.test_lru_cache_weakrefable": DEATH,
    "*.test_denial_of_service_prevented_int_to_str": "skips itself where the process is slow",
    "*.test_denial_of_service_prevented_str_to_int": "skips itself where the process is slow",
    "test.test_copy.TestCopy.test_copy_weakkeydict": DEATH,
    "test.test_copy.TestCopy.test_copy_weakvaluedict": DEATH,
    "test.test_weakref.FinalizeTestCase.test_order": DEATH,
    "test.test_weakref.MappingTestCase.test_weak_keyed_len_cycles": DEATH,
    "test.test_weakref.MappingTestCase.test_weak_keyed_union_operators": DEATH,
    "test.test_weakref.ReferencesTestCase.test_callback_in_cycle_resurrection": DEATH,
    "test.test_weakref.ReferencesTestCase.test_cfunction": DEATH,
    "test.test_weakref.ReferencesTestCase.test_classes": DEATH,
    "test.test_weakref.ReferencesTestCase.test_ref_reuse": DEATH,
    "test.test_coroutines.CoroutineTest.test_for_2": "counts references",
    "test.test_coroutines.CoroutineTest.test_for_3": "counts references",
    "test.test_coroutines.CoroutineTest.test_for_4": "counts references",
    "test.test_coroutines.CoroutineTest.test_for_6": "counts references",
    "test.test_re.ReTests.test_search_anchor_at_beginning": "measures time",
    "typing._collect_parameters": "typing_extensions, which torch imports, puts a function of its own in the place of typing's",
    "test.test_ordered_dict.CPythonBuiltinDictTests.test_highly_nested_subclass": DEATH,
    "test.test_ordered_dict.CPythonOrderedDictSubclassTests.test_reference_loop": DEATH,
    "test.test_ordered_dict.CPythonOrderedDictTests.test_reference_loop": DEATH,
    "test.test_ordered_dict.PurePythonOrderedDictSubclassTests.test_reference_loop": DEATH,
    "test.test_ordered_dict.PurePythonOrderedDictTests.test_reference_loop": DEATH,
    "test.test_tuple.TupleTest.test_free_after_iterating": DEATH,
    "test.test_frame.ClearTest.test_clear_executing": FRAMES,
    "test.test_frame.ClearTest.test_clear_locals": FRAMES,
    "test.test_frame.ClearTest.test_clear_refcycles": FRAMES,
    "test.test_frame.FrameAttrsTest.test_locals": FRAMES,
    "test.test_frame.ReprTest.test_repr": FRAMES,
}

# The same for runs with breaks.
EXEMPT_WITH_BREAKS = {
    "test.test_exceptions.NameErrorTests.test_name_error_bad_suggestions_do_not_trigger_for_small_names": FRAMES,
    "test.test_exceptions.NameErrorTests.test_name_error_suggestions": FRAMES,
    "test.test_exceptions.PEP626Tests.test_lineno_after_other_except": FRAMES,
    "test.test_exceptions.PEP626Tests.test_lineno_in_try": FRAMES,
    "test.test_weakref.MappingTestCase.test_weak_valued_len_cycles": DEATH,
    "test.test_raise.TestContext.test_3611": DEATH,
}

# Where captured modules run: forks of a process that has imported, once, torch and what torch's fake kernels need.
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["torch", "torch._meta_registrations", "torch._decomp", "sympy"])


TIMED_OUT = -1


@dataclasses.dataclass
class Outcome:
    """What a module's tests did."""

    results: dict[str, str]  # test id -> passed, failed, error, skipped; of a doctest module the module alone
    seconds: float
    exit_status: int
    output: str


def run_module(module: str, mode: str, breaks: int = 0, seed: int = 0, timeout: float = 1200) -> Outcome:
    """Runs a module of CPython's suite in a process of its own. Captured, the time does not have the import of torch in it.

    Args:
        mode: plain, global or stress.
        breaks, seed: as config.stress_breaks and config.stress_seed.
        timeout: seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        report, output = pathlib.Path(folder, "report.xml"), pathlib.Path(folder, "output.txt")
        arguments = ["--junit-xml", str(report), "--timeout", "0", module]
        began = time.perf_counter()
        if mode == "plain":
            status = run_plainly(arguments, output, timeout)
        else:
            environment = {"MINIDYNAMO": "1", "MINIDYNAMO_BACKEND": "eager"}
            if mode == "stress":
                environment |= {"MINIDYNAMO_STRESS": "1"}
                environment |= {"MINIDYNAMO_STRESS_BREAKS": str(breaks), "MINIDYNAMO_STRESS_SEED": str(seed)}
            status = run_captured(arguments, output, timeout, environment)
        seconds = time.perf_counter() - began
        results = read_report(report) if report.exists() else {}
        text = output.read_text(errors="replace")
    return Outcome(results, seconds, status, text + ("\n(timed out)" if status == TIMED_OUT else ""))


def run_plainly(arguments: list[str], output: pathlib.Path, timeout: float) -> int:
    """Runs `python -m test` as users do; its exit status."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MINIDYNAMO")}
    with output.open("wb") as file:
        try:
            return subprocess.run(
                [sys.executable, "-m", "test", *arguments],
                cwd=output.parent,
                env=environment | {"PYTHONHASHSEED": "0"},
                stdout=file,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                timeout=timeout,
            ).returncode
        except subprocess.TimeoutExpired:
            return TIMED_OUT


def run_captured(arguments: list[str], output: pathlib.Path, timeout: float, environment: dict[str, str]) -> int:
    """Runs the same in a fork of a process that has torch; its exit status."""
    os.environ["PYTHONHASHSEED"] = "0"  # of the process that is forked
    process = SERVER.Process(target=run_suite, args=(arguments, output, environment))
    process.start()
    process.join(timeout)
    if process.exitcode is None:
        process.kill()
        process.join()
        return TIMED_OUT
    return process.exitcode


def run_suite(arguments: list[str], output: pathlib.Path, environment: dict[str, str]) -> None:
    """`python -m test`, in this process, captured as the environment says."""
    os.chdir(output.parent)
    file = os.open(output, os.O_WRONLY | os.O_CREAT)
    for descriptor, opened in ((0, os.open(os.devnull, os.O_RDONLY)), (1, file), (2, file)):
        os.dup2(opened, descriptor)
    sys.stdin = os.fdopen(0, closefd=False)  # multiprocessing put another one there
    os.environ.update(environment)
    importlib.import_module("_minidynamo_startup").install()
    # The suite makes the paths of all modules absolute, which those of torch that are no plain modules do not bear.
    for name, module in list(sys.modules.items()):
        if name.startswith("torch") and type(module) is not type(sys):
            del sys.modules[name]
    sys.argv = ["test", *arguments]
    sys.path[0] = ""
    runpy.run_module("test", run_name="__main__", alter_sys=True)


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


def is_exempt(test: str, with_breaks: bool) -> bool:
    """Whether a test is listed as one that cannot be the same."""
    listed = EXEMPT | EXEMPT_WITH_BREAKS if with_breaks else EXEMPT
    return any(fnmatch.fnmatchcase(test, entry) for entry in listed)


def differences(plain: Outcome, captured: Outcome, with_breaks: bool = False) -> list[str]:
    """The tests whose outcome differs and that are not exempt, in words."""
    if plain.results and not captured.results:
        return [f"all {len(plain.results)} tests: the run has no results, exit status {captured.exit_status}"]
    found = []
    for test in sorted(plain.results.keys() | captured.results.keys()):
        before, after = plain.results.get(test, "absent"), captured.results.get(test, "absent")
        if before != after and not is_exempt(test, with_breaks):
            found.append(f"{test}: {before} -> {after}")
    exempt = any(is_exempt(test, with_breaks) for test in plain.results)
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
            found = differences(plain, captured, options.breaks > 0)
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
