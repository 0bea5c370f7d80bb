"""Fixtures of all tests: an empty cache before and after each, and the world as it was."""

import atexit
import gc
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import zlib
from collections.abc import Iterator

# Tests compare with eager PyTorch on one thread, so that sums are taken in one order; nothing is ever fetched.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
# Inductor's compiled code is kept for this run alone, here and in the processes that tests start.
os.environ["MINIDYNAMO_ARTIFACT_FOLDER"] = tempfile.mkdtemp(prefix="minidynamo-artifacts-")

sys.path.insert(0, str(pathlib.Path(__file__).parent / "oracles"))

import pytest
import torch

import minidynamo

atexit.register(shutil.rmtree, os.environ["MINIDYNAMO_ARTIFACT_FOLDER"], ignore_errors=True)
torch.set_num_threads(1)
# Every check of guards is made twice, here and in the processes that tests start: the fast way and the plain slow one.
minidynamo.config.mirror = True
# Timing would depend on the machine; tests/python/backends/test_where_capture_pays.py switches it on.
minidynamo.config.stop_where_slower = False
os.environ["MINIDYNAMO_MIRROR"] = "1"
# A shell's background jobs ignore Ctrl-C, and so would the processes that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


# Tables of cases that a machine has made: a run of all tests takes one case in SHARE of them, always the same ones; `--full`, or the name
# of the file, takes all.
SWEEPS = """c_types changing_numbers class_changes float_sweep forced_breaks guard_mutation itertools_at_breaks methods_of_tensor_classes
            nan_identity numpy_arrays opaque_types raised_errors rebuilt_objects set_order trace_changes_nothing uses_of_numbers""".split()  # noqa: SIM905
SHARE = 4
SHARE_OF_FAST_RUN = 16
# A fast run leaves these out: they compile with a C++ compiler, start many processes, or run CPython's test suite.
NOT_IN_FAST_RUN = """artifacts backend_caches background cpp_builds distributed docs global_capture models_torch models_transformers
                     out_of_memory packaging repro_sweep stress training_scripts""".split()  # noqa: SIM905


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="leave out the slow files and tests, and take fewer cases of the sweeps")
    parser.addoption("--full", action="store_true", help="run all cases of the sweeps, of which there is a fixed sample otherwise")


def is_left_out(item: pytest.Item, is_fast: bool) -> bool:
    name = item.path.stem.removeprefix("test_")
    if is_fast and (name in NOT_IN_FAST_RUN or item.get_closest_marker("slow")):
        return True
    share = SHARE_OF_FAST_RUN if is_fast else SHARE
    return name in SWEEPS and hasattr(item, "callspec") and zlib.crc32(item.name.encode()) % share != 0


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--full") or config.getoption("-k") or any(".py" in argument for argument in config.args):
        return
    is_fast = config.getoption("--fast")
    left_out = [item for item in items if is_left_out(item, is_fast)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not is_left_out(item, is_fast)]


@pytest.fixture(autouse=True)
def clean_state() -> Iterator[None]:
    minidynamo.reset()
    torch.manual_seed(0)
    random.seed(0)
    before = (torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_autocast_enabled("cpu"))
    yield
    after = (torch.is_grad_enabled(), torch.get_default_dtype(), torch.is_autocast_enabled("cpu"))
    minidynamo.reset()
    assert before == after, "the test left torch in another mode"
    differences = minidynamo.debug.mirror_differences()
    assert not differences, "\n".join(differences)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """For tests that count objects or events: when the collector runs finalizers depends on the tests that ran before."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
