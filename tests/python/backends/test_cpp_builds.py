"""The C++ compiler runs once for the kernels of a graph, and for no question that it has answered before."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch

import minidynamo
from minidynamo import config
from minidynamo._artifacts import folder
from minidynamo.backends import _cpp_builds, _cpp_probes

PROGRAM = """
import torch, minidynamo
import torch._inductor.cpp_builder as builder

runs = []
original = builder.CppBuilder.build
def build(self):
    runs.append(self.get_target_file_path())
    return original(self)
builder.CppBuilder.build = build

def f(x, w):
    return (torch.softmax(x @ w, 1) @ w).relu() @ w + x.sum()

x, w = torch.randn(64, 64, requires_grad=True), torch.randn(64, 64, requires_grad=True)
optimized = minidynamo.compile(f)
result = optimized(x, w)
torch.testing.assert_close(result, f(x, w), atol=1e-3, rtol=1e-3)
found = torch.autograd.grad(result.sum(), (x, w))
torch.testing.assert_close(found, torch.autograd.grad(f(x, w).sum(), (x, w)), atol=1e-3, rtol=1e-3)
print(len([path for path in runs if path.endswith(".so")]))
"""


def runs_of_the_compiler(place: pathlib.Path, torchs_folder: str) -> int:
    environment = {
        **os.environ,
        "MINIDYNAMO_ARTIFACT_FOLDER": str(place / "artifacts"),
        "TORCHINDUCTOR_CACHE_DIR": str(place / torchs_folder),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    return int(done.stdout.splitlines()[-1])


def test_one_run_for_a_graph_and_one_for_all_questions(tmp_path: pathlib.Path) -> None:
    kernels = 2  # forward and backward, of several kernels each
    first = runs_of_the_compiler(tmp_path, "first")
    answers = len(list((tmp_path / "artifacts/answers").iterdir()))
    assert kernels < first <= kernels + 2 and answers >= 1  # a set of instructions may have one extension that is asked about by itself
    for entry in (tmp_path / "artifacts/entries").iterdir():
        entry.unlink()
    assert runs_of_the_compiler(tmp_path, "second") == kernels


def several_kernels(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (torch.softmax(x @ w, 1) @ w).relu() @ w + 1


def libraries_of(tmp_path: pathlib.Path) -> int:
    """How many libraries a graph with several kernels has."""
    x, w = torch.randn(64, 64), torch.randn(64, 64)
    with config.patch(artifact_folder=str(tmp_path)):
        torch.testing.assert_close(
            minidynamo.compile(several_kernels, backend="inductor")(x, w), several_kernels(x, w), atol=1e-4, rtol=1e-4
        )
        (entry,) = folder.contents()
        return len(folder.libraries_of(folder.read(entry[0])))


def test_kernels_share_a_library(tmp_path: pathlib.Path) -> None:
    assert libraries_of(tmp_path) == 1


def test_kernels_that_cannot_be_joined_are_compiled_one_by_one(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(kernels: object) -> str:
        return '#error "no"'

    monkeypatch.setattr(_cpp_builds, "_joined", fail)
    assert libraries_of(tmp_path) > 1


def test_sources_of_another_form_are_not_joined() -> None:
    kernel = 'extern "C"  void  kernel(const float* in_ptr0, float* out_ptr0) {}'
    assert _cpp_builds._can_be_joined(kernel)
    for other in (kernel + kernel, "#define N 3\n" + kernel, "void other() {}"):
        assert not _cpp_builds._can_be_joined(other)
    text = _cpp_builds._joined([(("const float*", "float*"), kernel), (("int64_t",), 'extern "C" void kernel(int64_t n) {}')])
    assert "kernel_1(parse_arg<int64_t>(args, 0))" in text and re.search(r'\{\s*"kernel_1",[^}]*kernel_1_py', text)


def test_what_others_compile_is_compiled_as_ever() -> None:
    from torch._inductor.codecache import CppPythonBindingsCodeCache

    x, w = torch.randn(64, 64), torch.randn(64, 64)
    minidynamo.compile(several_kernels, backend="inductor")(x, w)
    known = len(CppPythonBindingsCodeCache.cache)
    torch.testing.assert_close(torch.compile(lambda a, b: several_kernels(a, b) * 3)(x, w), several_kernels(x, w) * 3, atol=1e-4, rtol=1e-4)
    assert len(CppPythonBindingsCodeCache.cache) > known


def test_a_door_of_another_form_leaves_all_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor.async_compile import AsyncCompile

    monkeypatch.setattr(AsyncCompile, "wait", lambda self, scope, more: None)
    before = AsyncCompile.cpp_pybinding
    _cpp_builds._install_once.__wrapped__()
    assert AsyncCompile.cpp_pybinding is before


# ---- what the compiler is asked about the machine


class Set:
    """A set of vector instructions, as torch describes one."""

    _arch_flags = "-mavx512f"
    _avx512_bf16_code = "extension"

    def __init__(self, name: str = "avx512", has: bool = True) -> None:
        self.name, self.has, self.asked = name, has, 0

    def build_arch_flags(self) -> str:
        return self._arch_flags

    def __bool__(self) -> bool:
        self.asked += 1
        return self.has


def test_sets_of_instructions_are_tried_as_they_are_asked_for() -> None:
    sets = [Set(has=False), Set(), Set(), Set(has=False)]
    there = _cpp_probes._Sets(list(sets))
    assert there and there[0] is sets[1]
    assert [each.asked for each in sets] == [1, 1, 0, 0]
    assert list(there) == [sets[1], sets[2]] and len(there) == 2 and there[-1] is sets[2]
    assert [each.asked for each in sets] == [1, 1, 1, 1]
    assert not _cpp_probes._Sets([Set(has=False)])


@pytest.mark.parametrize("are_taken_as_one", [True, False])
def test_a_set_and_its_extensions_are_one_question(are_taken_as_one: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    monkeypatch.setattr(_cpp_probes, "_proofs", {})
    programs: list[tuple[str, str]] = []

    def build(isa: Set, program: str) -> bool:
        programs.append((program, isa.build_arch_flags()))
        return "\n" not in program or are_taken_as_one

    found = Set()

    def ask(program: str, flags: str) -> bool:
        found._arch_flags = flags
        return _cpp_probes.answer(str, build, found, program)

    with config.patch(artifact_folder=str(tmp_path), artifacts=True):
        questions = [("set", "-mavx512f"), ("extension", "-mavx512f -mavx512bf16"), ("extension", "-mavx512f -mother")]
        assert all(ask(*question) for question in questions)
        together = ("set\nextension", "-mavx512f -mavx512bf16")
        assert programs == [together, questions[2]] if are_taken_as_one else [together, *questions]
        programs.clear()
        assert all(ask(*question) for question in questions) and not programs  # they are known


def test_torch_finds_the_same_set(tmp_path: pathlib.Path) -> None:
    from torch._inductor import cpu_vec_isa

    expected = [str(each) for each in getattr(cpu_vec_isa.valid_vec_isa_list, "__wrapped__", cpu_vec_isa.valid_vec_isa_list)()]
    with config.patch(artifact_folder=str(tmp_path), artifacts=True), _cpp_builds.few_builds():
        assert [str(each) for each in cpu_vec_isa.valid_vec_isa_list()] == expected
        assert str(cpu_vec_isa.pick_vec_isa()) == (expected[0] if expected else str(cpu_vec_isa.invalid_vec_isa))
