"""Artifacts: what one process compiled, another loads without the compiler; equal results, whatever happens to the files."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import _artifacts, config
from minidynamo._artifacts import folder
from minidynamo._artifacts.generated_module import NotKept
from minidynamo._artifacts.key import key
from minidynamo._capture import conditions
from minidynamo.backends._aot_eager import aot_eager


@pytest.fixture(autouse=True)
def own_folder(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    place = tmp_path / "artifacts"
    with config.patch(artifact_folder=str(place), artifacts=True):
        yield place


@contextlib.contextmanager
def counted(**expected: int) -> Iterator[None]:
    before = _artifacts.counts()
    yield
    found = {name: count - before[name] for name, count in _artifacts.counts().items() if count != before[name]}
    assert found == expected


# ---- each calling convention: compiled, loaded, eager

Inputs = Callable[[torch.Tensor, torch.Tensor], tuple[Any, ...]]


def plain(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    return x.detach(), w.detach()


def trained(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    return x, w


def one_trained(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    return x, w.detach()


def computed(x: torch.Tensor, w: torch.Tensor) -> tuple[Any, ...]:
    return x * 1, w.detach()


def made(inputs: Inputs) -> tuple[Any, ...]:
    return inputs(*leaves())


def leaves(rows: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(rows, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)


def product(x: Any, w: Any) -> Any:
    return (x @ w).relu() + 1


def whole_numbers_beside(x: Any, w: Any) -> Any:
    return (x @ w).sum(1), (x > 0).sum(), x.argmax(1)


def input_itself(x: Any, w: Any) -> Any:
    return x, x * w.sum()


def view_of_input(x: Any, w: Any) -> Any:
    return x.t(), x.view(-1)[2:5], x @ w


def views_of_one_result(x: Any, w: Any) -> Any:
    y = x @ w
    return y.t(), y.view(-1), y[0]


def view_and_its_base(x: Any, w: Any) -> Any:
    y = x @ w
    return y, y[1:3], y.detach()


def writes_to_argument(x: Any, w: Any) -> Any:
    w.mul_(2)
    return x @ w


def writes_to_computed(x: Any, w: Any) -> Any:
    x.mul_(2)
    return x @ w


def writes_without_autograd(x: Any, w: Any) -> Any:
    with torch.no_grad():
        x.mul_(2)
    return x @ w


def transposes_argument(x: Any, w: Any) -> Any:
    x.t_()
    return x.sum(1) @ torch.ones(3) + w.sum()


def leaves_autograd_off(x: Any, w: Any) -> Any:
    y = x @ w
    torch.set_grad_enabled(False)
    return y * 2


def constant_table(x: Any, w: Any) -> Any:
    return (x @ w) * torch.tensor([1.0, -2.0, 0.5])


def under_autocast(x: Any, w: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (x @ w).sum(0)


def random_mask(x: Any, w: Any) -> Any:
    return torch.nn.functional.dropout(x @ w, 0.5)


def is_checkpointed(x: Any, w: Any) -> Any:
    return torch.utils.checkpoint.checkpoint(lambda a: torch.sin(a @ w).exp(), x, use_reentrant=False)


def expanded(x: Any, w: Any) -> Any:
    return (x @ w).sum(0, keepdim=True).expand(4, 3)


def complex_view(x: Any, w: Any) -> Any:
    return torch.view_as_real(torch.complex(x @ w, x)).sum(-1)


CASES: dict[str, tuple[Callable[..., Any], Inputs]] = {
    f"{function.__name__} {inputs.__name__}": (function, inputs)
    for function, kinds in [
        (product, (plain, trained)),
        (whole_numbers_beside, (plain, trained)),
        (input_itself, (plain, trained, computed)),
        (view_of_input, (plain, trained)),
        (views_of_one_result, (plain, trained)),
        (view_and_its_base, (plain, trained)),
        (writes_to_argument, (plain, one_trained)),
        (writes_to_computed, (computed,)),
        (writes_without_autograd, (plain, one_trained)),
        (transposes_argument, (plain,)),
        (leaves_autograd_off, (plain, trained)),
        (constant_table, (plain, trained)),
        (under_autocast, (plain, trained)),
        (random_mask, (plain, trained)),
        (is_checkpointed, (trained,)),
        (expanded, (trained,)),
        (complex_view, (plain, trained)),
    ]
    for inputs in kinds
}


def described(x: torch.Tensor) -> Any:
    return tuple(x.shape), x.stride(), x.storage_offset(), x.dtype, x.requires_grad, x.is_leaf


def observed(function: Callable[..., Any], inputs: Inputs, rows: int = 4) -> tuple[list[Any], list[torch.Tensor]]:
    """The observable parts of a call: facts, which have to be equal, and tensors, which have to be near."""
    torch.manual_seed(3)
    own = leaves(rows)
    arguments = inputs(*own)
    try:
        results = function(*arguments)
        mode = torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)
    given = results if isinstance(results, tuple) else (results,)
    places = {id(x): f"argument {i}" for i, x in enumerate(arguments)}
    storages = {x.untyped_storage().data_ptr(): i for i, x in reversed([*enumerate((*arguments, *given))])}
    facts: list[Any] = [mode, [described(x) for x in (*arguments, *given)], [x._version for x in arguments]]
    facts += [[places.get(id(x)) for x in given], [storages[x.untyped_storage().data_ptr()] for x in given], torch.rand(2).tolist()]
    tensors = [x.detach().clone() for x in (*arguments, *given)]
    for number, result in enumerate(given):
        if not result.requires_grad:
            continue
        # With gaps and another order: not the layout that a backward is compiled for.
        gradient = torch.randn(*reversed(result.shape), 2)[..., 0].permute(*reversed(range(result.dim())))
        found = torch.autograd.grad(result, own, gradient, retain_graph=number + 1 < len(given), allow_unused=True)
        # AOTAutograd returns zeros where eager returns None.
        tensors += [torch.zeros_like(x) if g is None else g for g, x in zip(found, own, strict=True)]
    return facts, tensors


@pytest.mark.parametrize("name", CASES)
def test_a_loaded_graph_does_what_the_compiled_one_does(name: str) -> None:
    function, inputs = CASES[name]
    kept = minidynamo.compile(function, backend="inductor")
    facts, tensors = observed(function, inputs)
    with counted(written=1):
        compiled_facts, compiled_tensors = observed(kept, inputs)
    minidynamo.reset()
    with counted(loaded=1):
        loaded_facts, loaded_tensors = observed(kept, inputs)
    assert loaded_facts == compiled_facts
    if function is not random_mask:  # Inductor draws in its own way
        assert loaded_facts == facts
        torch.testing.assert_close(loaded_tensors, tensors, rtol=2e-2 if function is under_autocast else 1.3e-6, atol=1e-5)
    assert all(torch.equal(a, b) for a, b in zip(loaded_tensors, compiled_tensors, strict=True))


# Sizes of an input that is transposed in place are specialized.
@pytest.mark.parametrize("name", [name for name, (function, _) in CASES.items() if function is not transposes_argument])
def test_a_graph_with_dynamic_sizes_is_loaded_for_other_sizes(name: str) -> None:
    function, inputs = CASES[name]
    kept = minidynamo.compile(function, backend="inductor", dynamic=True)
    with counted(written=1):
        observed(kept, inputs)
    minidynamo.reset()
    for rows, expected in ((7, {"loaded": 1}), (5, {}), (4, {})):
        with counted(**expected):
            facts, tensors = observed(kept, inputs, rows)
        eager_facts, eager_tensors = observed(function, inputs, rows)
        if function is not random_mask:  # Inductor draws in its own way
            assert facts == eager_facts
            torch.testing.assert_close(tensors, eager_tensors, rtol=2e-2 if function is under_autocast else 1.3e-6, atol=1e-5)


def test_conditions_of_the_compiler_hold_for_a_loaded_graph_too() -> None:
    def reshaped(x: torch.Tensor) -> torch.Tensor:
        if x.shape[0] % 2 == 0:
            return x.view(2, -1) + 1
        return x * 2

    kept = minidynamo.compile(reshaped, backend="inductor", dynamic=True)

    def checked(rows: int) -> None:
        x = torch.randn(rows)
        torch.testing.assert_close(kept(x), reshaped(x))

    with counted(written=2):
        checked(6), checked(5)
    minidynamo.reset()
    with counted(loaded=2):
        checked(7), checked(9), checked(8), checked(10)


def test_sizes_that_an_artifact_does_not_fit_get_one_of_their_own() -> None:
    def concatenated(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, x.sin()]).softmax(0)

    def called(*sizes: int, is_turned: bool = False) -> None:
        kept = minidynamo.compile(concatenated, backend="inductor", dynamic=True)
        for size in sizes:
            x = torch.randn(4, size).t() if is_turned else torch.randn(size, 4)
            torch.testing.assert_close(kept(x), concatenated(x))
        minidynamo.reset()

    with torch.no_grad():
        with counted(written=1):
            called(5, 8)
        with counted(written=1):
            called(6, is_turned=True)
        with counted(loaded=1):
            called(3, 9, is_turned=True)
        with counted(loaded=1):
            called(7)


def test_conditions_are_computed_as_a_guard_computes_them() -> None:
    rows, n = ("size", 0, 0), ("int", 1)
    inputs = [torch.empty(6, 4), 3]
    for holds in (
        ("==", rows, 6),
        ("<", n, rows),
        ("<=", ("+", rows, ("*", n, -2)), 0),
        ("!=", ("%", rows, 4), 0),
        ("==", ("//", ("*", rows, -1), 4), -2),
        ("==", ("max", rows, n), ("*", 2, ("min", rows, n))),
        ("==", ("-", n, rows), -3),
        ("==", ("-.", ("float", n), 0.5), 2.5),
        ("==", ("stride", 0, 0), 4),
        ("==", ("floor", ("/.", ("float", rows), 4.0)), 1),
        ("==", ("ceil", ("/.", ("float", rows), 4.0)), 2),
        ("==", ("round", ("/.", ("float", n), 2.0)), 2),
        ("<", ("sqrt", ("float", rows)), ("**.", ("float", rows), 0.75)),
    ):
        assert conditions.hold([holds], inputs), holds
    assert not conditions.hold([("==", rows, 6), ("==", rows, 5)], inputs)
    assert not conditions.hold([("==", ("//", rows, ("+", n, -3)), 1)], inputs)


def loaded(function: Callable[..., Any], *arguments: Any, step: Callable[[Any], Any] = lambda result: result) -> Any:
    """The function with its graph loaded from disk."""
    optimized = minidynamo.compile(function, backend="inductor")
    with counted(written=1):
        step(optimized(*arguments))
    minidynamo.reset()
    with counted(loaded=1):
        step(optimized(*arguments))
    return optimized


def total(result: Any) -> None:
    result.sum().backward()


def test_a_backward_runs_again_while_its_tensors_are_kept() -> None:
    """Compiled for a single backward, it may use the memory of saved tensors for its own results."""

    def f(x: torch.Tensor) -> torch.Tensor:
        return (x.sin() * x.exp()).tanh()

    optimized = loaded(f, torch.randn(5, requires_grad=True), step=total)
    x = torch.randn(5, requires_grad=True)
    result = optimized(x).sum()
    (expected,) = torch.autograd.grad(f(x).sum(), x)
    for keep in (True, True, False):
        (gradient,) = torch.autograd.grad(result, x, retain_graph=keep)
        torch.testing.assert_close(gradient, expected)
    with pytest.raises(RuntimeError, match="second time"):
        result.backward()


def test_a_backward_cannot_be_differentiated() -> None:
    optimized = loaded(product, *made(trained), step=total)
    x, w = made(trained)
    (gradient,) = torch.autograd.grad(optimized(x, w).sum(), x, create_graph=True)
    assert gradient.requires_grad
    with pytest.raises(RuntimeError, match="double backward"):
        gradient.sum().backward()


def test_a_saved_input_that_is_written_to_is_noticed() -> None:
    optimized = loaded(lambda x, w: x * w, torch.randn(3, requires_grad=True), torch.randn(3), step=total)
    w = torch.randn(3)
    result = optimized(torch.randn(3, requires_grad=True), w)
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total(result)


def test_batch_norm_and_a_whole_training_step() -> None:
    def make() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, bias=False), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten())
        return model, torch.optim.AdamW(model.parameters(), foreach=True)

    x = torch.randn(2, 3, 6, 6)

    def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    expected, outcomes = make(), []
    losses = [step(*expected).detach() for _ in range(3)]
    for counts in ({"written": 2}, {"loaded": 2}):  # the first step makes the optimizer's state
        minidynamo.reset()
        subject = make()
        optimized = minidynamo.compile(step, backend="inductor")
        with counted(**counts):
            outcomes.append([optimized(*subject).detach() for _ in range(3)])
        torch.testing.assert_close(outcomes[-1], losses)
        torch.testing.assert_close(subject[0].state_dict(), expected[0].state_dict())
    assert all(torch.equal(a, b) for a, b in zip(*outcomes, strict=True))


def test_a_graph_that_is_never_differentiated_is_not_complete() -> None:
    optimized = minidynamo.compile(product, backend="inductor")
    with counted():
        result = optimized(*made(trained))
    with counted(written=1):
        total(result)


def test_eight_threads_load_one_artifact() -> None:
    x, w = made(plain)
    optimized = loaded(product, x, w)
    minidynamo.reset()
    results: list[torch.Tensor] = []
    threads = [threading.Thread(target=lambda: results.append(optimized(x, w))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    torch.testing.assert_close(results, [product(x, w)] * 8)


# ---- other processes

PROGRAM = """
import json, sys, torch, minidynamo
from minidynamo import _artifacts
torch.set_num_threads(int(sys.argv[1]))
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
x = torch.randn(3, 8)
expected = model(x)
expected.sum().backward()
gradients = [p.grad.clone() for p in model.parameters()]
model.zero_grad()
optimized = minidynamo.compile(model)
result = optimized(x)
result.sum().backward()
with torch.no_grad():
    other = optimized(x)
names = "torch._inductor", "torch._dynamo", "torch._functorch.aot_autograd", "sympy"
imported = [name for name in names if name in sys.modules]
torch.testing.assert_close(result, expected)  # imports sympy
torch.testing.assert_close(other, expected)
torch.testing.assert_close([p.grad for p in model.parameters()], gradients)
print(json.dumps({**_artifacts.counts(), "imported": imported}))
"""


def started(place: pathlib.Path, threads: int = 1, **variables: str) -> "subprocess.Popen[str]":
    environment = {
        **os.environ,
        "MINIDYNAMO_ARTIFACT_FOLDER": str(place / "artifacts"),
        "TORCHINDUCTOR_CACHE_DIR": str(place / "torch"),
        "OMP_NUM_THREADS": "1",
        **variables,
    }
    command = [sys.executable, "-P", "-c", PROGRAM, str(threads)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: "subprocess.Popen[str]") -> tuple[dict[str, Any], str]:
    out, err = process.communicate(timeout=500)
    assert process.returncode == 0, err[-3000:]
    return json.loads(out.splitlines()[-1]), err


def test_another_process_loads_without_the_compiler(tmp_path: pathlib.Path) -> None:
    """Two that compile at once; then one that loads; then files that are damaged, and a folder that is not this user's alone."""
    both = [ended(process)[0] for process in [started(tmp_path), started(tmp_path)]]
    assert all(found["written"] + found["loaded"] == 2 and not found["damaged"] for found in both)
    assert any(found["written"] for found in both)

    found, err = ended(started(tmp_path))
    assert found == {"loaded": 2, "written": 0, "not_kept": 0, "damaged": 0, "imported": []} and not err

    libraries, entries = sorted((tmp_path / "artifacts/libraries").iterdir()), sorted((tmp_path / "artifacts/entries").iterdir())
    assert len(entries) == 2 and all(path.stat().st_mode & 0o077 == 0 for path in (*entries, *libraries))
    damage(libraries[0])
    entries[0].write_bytes(entries[0].read_bytes()[:-100])
    found, err = ended(started(tmp_path))
    assert found["damaged"] >= 1 and found["written"] == found["damaged"] and found["loaded"] == 2 - found["damaged"]
    assert err.count("is damaged") == found["damaged"]
    assert ended(started(tmp_path))[0]["loaded"] == 2

    (tmp_path / "artifacts").chmod(0o777)
    found, err = ended(started(tmp_path))
    assert found["loaded"] == 0 == found["written"] and "writable by no other user" in err
    (tmp_path / "artifacts").chmod(0o700)
    if os.getuid() == 0:
        os.chown(tmp_path / "artifacts", 12345, -1)
        found, err = ended(started(tmp_path))
        assert found["loaded"] == 0 == found["written"] and "belong to this user" in err


def damage(path: pathlib.Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


# ---- the folder


def entry(number: int) -> dict[str, Any]:
    return {"modules": [{"kernels": {"kernel": (f"{number % 7:064x}", "kernel")}}], "number": number, "filling": bytes(1000)}


def test_what_was_not_used_for_longest_goes_first() -> None:
    libraries = {f"{number:064x}": bytes(100) for number in range(7)}
    for number in range(300):
        folder.write(f"{number:064x}", entry(number), {f"{number % 7:064x}": libraries[f"{number % 7:064x}"]})
        os.utime(pathlib.Path(folder.path(), "entries", f"{number:064x}"), (number, number))
    assert len(folder.contents()) == 300
    with config.patch(artifact_limit=100_000):
        for number in range(300, 1300):
            folder.write(f"{number:064x}", entry(number), {f"{number % 7:064x}": libraries[f"{number % 7:064x}"]})
            assert folder.size() <= 100_000
    left = {int(name, 16) for name, _, _ in folder.contents()}
    assert 60 < len(left) < 100 and min(left) >= 1200 and max(left) == 1299
    assert folder.read(f"{1299:064x}")["number"] == 1299 and folder.read(f"{0:064x}") is None
    assert len(list(pathlib.Path(folder.path(), "libraries").iterdir())) == 7
    assert folder.clear() == len(left) and folder.size() == 0 and folder.clear() == 0


def test_a_used_entry_stays() -> None:
    for number in range(10):
        folder.write(f"{number:064x}", entry(number), {})
        os.utime(pathlib.Path(folder.path(), "entries", f"{number:064x}"), (number, number))
    assert folder.read(f"{0:064x}")["number"] == 0
    with config.patch(artifact_limit=5000):
        folder.write("a" * 64, entry(10), {})
    assert {name for name, _, _ in folder.contents()} >= {f"{0:064x}", "a" * 64}


def test_an_entry_larger_than_the_limit_is_alone() -> None:
    for number in range(3):
        folder.write(f"{number:064x}", entry(number), {})
    with config.patch(artifact_limit=10):
        folder.write("a" * 64, entry(10), {})
    assert [name for name, _, _ in folder.contents()] == ["a" * 64]


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    x, w = made(plain)
    optimized = minidynamo.compile(product, backend="inductor")
    monkeypatch.setattr(os, "replace", full)
    with counted(not_kept=1):
        torch.testing.assert_close(optimized(x, w), product(x, w))
    assert folder.contents() == [] and [path for path in pathlib.Path(folder.path()).rglob("*") if path.is_file()] == [
        pathlib.Path(folder.path(), "lock")
    ]


def test_a_folder_that_cannot_be_made(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("")
    x, w = made(plain)
    with config.patch(artifact_folder=str(tmp_path / "file" / "artifacts")), counted(not_kept=1):
        torch.testing.assert_close(minidynamo.compile(product, backend="inductor")(x, w), product(x, w))


@pytest.mark.parametrize("content", [b"", b"minidynamo artifact\n", b"something else that is long enough" * 10])
def test_a_foreign_file_is_made_anew(own_folder: pathlib.Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    x, w = made(plain)
    optimized = loaded(product, x, w)
    (path,) = (own_folder / "entries").iterdir()
    path.write_bytes(content)
    minidynamo.reset()
    with counted(damaged=1, written=1):
        optimized(x, w)
    assert sum("is damaged" in record.message for record in caplog.records) == 1
    minidynamo.reset()
    with counted(loaded=1):
        optimized(x, w)


def test_an_entry_that_this_torch_cannot_run_is_made_anew(own_folder: pathlib.Path) -> None:
    x, w = made(plain)
    optimized = loaded(product, x, w)
    (path,) = (own_folder / "entries").iterdir()
    content = folder.read(path.name)
    content["modules"][0]["operators"].append("ops.aten.not_there.default")
    folder.write(path.name, content, {})
    minidynamo.reset()
    with counted(damaged=1, written=1):
        torch.testing.assert_close(optimized(x, w), product(x, w))


# ---- keys


def graph_of(function: Callable[..., Any], *arguments: Any) -> tuple[torch.fx.GraphModule, list[Any]]:
    found: list[Any] = []

    def keep(graph_module: torch.fx.GraphModule, example_inputs: list[Any]) -> Any:
        found.append((graph_module, example_inputs))
        return graph_module.forward

    minidynamo.compile(function, backend=keep, fullgraph=True, dynamic=False)(*arguments)
    assert len(found) == 1
    result: tuple[torch.fx.GraphModule, list[Any]] = found[0]
    return result


def key_of(function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    return key(*graph_of(function, *arguments), options)


def test_equal_graphs_have_equal_keys() -> None:
    x, w = torch.ones(4, 3), torch.ones(3, 3)

    def other_names(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        result = torch.matmul(first, second)
        result = torch.relu(result)
        return torch.add(result, 1)

    def written_so(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.add(torch.relu(torch.matmul(a, b)), 1)

    assert key_of(other_names, x, w) == key_of(written_so, torch.zeros(4, 3), w)

    class Holder(torch.nn.Module):
        def __init__(self, name: str) -> None:
            super().__init__()
            setattr(self, name, torch.nn.Linear(3, 3))
            self.name = name

        def forward(self, x: torch.Tensor) -> Any:
            return getattr(self, self.name)(x)

    assert key_of(Holder("first"), x) == key_of(Holder("second"), x)


def test_what_differs_has_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = torch.ones(4, 3), torch.ones(3, 3)
    graph, inputs = graph_of(product, x, w)
    keys = [key(graph, inputs, {})]
    assert key(graph, inputs, {}) == keys[0]
    keys.append(key(graph, inputs, {"max_autotune": True}))
    for other in (
        x.t().contiguous().t(),
        x.double().float()[:, :],
        torch.nn.Parameter(x),
        x.clone().requires_grad_(),
        torch.ones(8, 3)[4:],
    ):
        keys.append(key(graph, [other, w], {}))
    keys = list(dict.fromkeys(keys))
    same_storage = torch.ones(100)
    keys.append(key(graph, [same_storage[:12].view(4, 3), same_storage[12:21].view(3, 3)], {}))
    for number in (1, 1.0, True, 2, -0.0, 0.0, float("nan"), float("inf"), 1 + 0j):
        keys.append(key_of(lambda x, w, number=number: x * number, x, w))
    keys.append(key_of(lambda x, w: torch.nn.functional.pad(x, (1, 1)), x, w))
    keys.append(key_of(lambda x, w: torch.nn.functional.pad(x, (1, 1), value=1.0), x, w))
    keys.append(key_of(lambda x, w: (x @ w, w), x, w))
    with torch.no_grad():
        keys.append(key(graph, inputs, {}))
    with torch.autocast("cpu"):
        keys.append(key(graph, inputs, {}))
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        keys.append(key(graph, inputs, {}))
    with torch.autograd.set_detect_anomaly(True):
        keys.append(key(graph, inputs, {}))
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    keys.append(key(graph, inputs, {}))
    torch.set_num_threads(threads)
    for change in (
        lambda patch: patch.setattr(torch.backends.opt_einsum, "enabled", not torch.backends.opt_einsum.enabled),
        lambda patch: patch.setattr(torch, "__version__", "9.9"),
        lambda patch: patch.setattr(torch.cpu, "get_capabilities", lambda: {"avx2": False}),
        lambda patch: patch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "DEFAULT"),
        lambda patch: patch.setattr(minidynamo, "__version__", "9.9"),
        lambda patch: patch.setattr(_artifacts.key.__globals__["sys"].implementation, "cache_tag", "cpython-999"),
        lambda patch: patch.setenv("TORCHINDUCTOR_SHAPE_PADDING", "0"),
        lambda patch: patch.setenv("CXX", "clang++"),
    ):
        with monkeypatch.context() as patch:
            change(patch)
            keys.append(key(graph, inputs, {}))
    import torch._inductor.config as settings

    with settings.patch(max_autotune=True):
        keys.append(key(graph, inputs, {}))
    assert len(set(keys)) == len(keys) >= 28
    assert key(graph, inputs, {}) == keys[0]


@minidynamo.allow_in_graph
def of_this_program(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@torch.library.custom_op("minidynamo_tests::of_this_program", mutates_args=())
def operator_of_this_program(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@operator_of_this_program.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Subclass(torch.Tensor):
    pass


def test_a_function_that_torch_makes_by_a_function() -> None:
    x = torch.ones(1, 2, 4, 4)
    assert key_of(lambda x: torch.nn.functional.max_pool2d(x, 2), x) != key_of(lambda x: torch.nn.functional.avg_pool2d(x, 2), x)


def test_a_number_that_a_tensor_is_added_to_in_place() -> None:
    def f(x: torch.Tensor) -> Any:
        total: Any = 0
        total += x
        return total

    assert key_of(f, torch.ones(3)) != key_of(lambda x: 0 - x, torch.ones(3))


def test_what_means_something_in_this_process_alone_has_no_key() -> None:
    x, w = made(plain)
    for function, reason in [
        (lambda x: of_this_program(x) * 2, "of_this_program"),
        (lambda x: operator_of_this_program(x) * 2, "no operator of torch's own"),
    ]:
        with pytest.raises(NotKept, match=reason):
            key_of(function, x)
    graph, inputs = graph_of(product, x, w)
    with pytest.raises(NotKept, match="Subclass"):
        key(graph, [x.as_subclass(Subclass), w], {})
    with pytest.raises(NotKept, match="one tensor"):
        key(graph, [w, w], {})
    with pytest.raises(NotKept, match="setting"):
        key(graph, inputs, {"post_grad_custom_pre_pass": print})
    graph.register_buffer("table", x)
    with graph.graph.inserting_before(graph.graph.output_node()):
        graph.graph.get_attr("table")
    with pytest.raises(NotKept, match="holds a tensor"):
        key(graph, inputs, {})


def test_a_changed_function_of_torchs_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = torch.fx.symbolic_trace(lambda x: (torch.nn.functional.softsign(x),))
    key(graph, [torch.ones(2)], {})
    monkeypatch.setattr(torch.nn.functional, "softsign", lambda x: x)
    _artifacts.key.__globals__["_names"].clear()
    with pytest.raises(NotKept, match="softsign"):
        key(graph, [torch.ones(2)], {})


def test_the_log_says_what_is_loaded_written_and_not_kept(caplog: pytest.LogCaptureFixture) -> None:
    with config.patch(logs="artifacts"), caplog.at_level("DEBUG", "minidynamo"):
        loaded(product, *made(plain))
        minidynamo.compile(lambda x: of_this_program(x) * 2, backend="inductor")(torch.ones(2))
    texts = [record.getMessage() for record in caplog.records if record.name == "minidynamo.artifacts"]
    assert [text.partition(" is ")[2].partition(":")[0] for text in texts] == ["written", "loaded", "not kept"]
    assert "of_this_program" in texts[-1]


def test_a_file_of_artifacts(tmp_path: pathlib.Path) -> None:
    optimized = loaded(product, *made(plain))
    path = tmp_path / "product.artifacts"
    count = minidynamo.save_artifacts(path)
    assert count >= 1
    with config.patch(artifact_folder=str(tmp_path / "elsewhere")):
        assert minidynamo.load_artifacts(path) == count
        minidynamo.reset()
        with counted(loaded=1):
            x, w = made(plain)
            torch.testing.assert_close(optimized(x, w), product(x, w))
    damage(path)
    with pytest.raises(ValueError, match="damaged"), config.patch(artifact_folder=str(tmp_path / "damaged")):
        minidynamo.load_artifacts(path)
    for content in (b"", b"no archive"):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="no file of artifacts"):
            minidynamo.load_artifacts(path)
    with zipfile.ZipFile(path, "w") as other:
        other.writestr("../../outside", b"")
    with pytest.raises(ValueError, match="no artifacts"):
        minidynamo.load_artifacts(path)
    with pytest.raises(FileNotFoundError):
        minidynamo.load_artifacts(tmp_path / "missing")
    pathlib.Path(folder.path()).chmod(0o777)
    with pytest.raises(PermissionError, match="writable by no other user"):
        minidynamo.save_artifacts(tmp_path / "again")


def test_the_command_shows_and_clears(own_folder: pathlib.Path) -> None:
    def cache(*arguments: str) -> str:
        environment = {**os.environ, "MINIDYNAMO_ARTIFACT_FOLDER": str(own_folder)}
        command = [sys.executable, "-P", "-m", "minidynamo", "cache", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert cache().startswith("0 artifacts")
    loaded(product, *made(plain))
    ((name, _, _),) = folder.contents()
    assert cache().startswith("1 artifacts") and name in cache()
    assert cache("--clear").startswith("1 artifacts are removed") and folder.contents() == []


def test_switched_off() -> None:
    x, w = made(plain)
    with config.patch(artifacts=False), counted():
        minidynamo.compile(product, backend="inductor")(x, w)
    minidynamo.reset()
    with counted():
        minidynamo.compile(product, backend="inductor", options={"fx_graph_cache": False})(x, w)
    assert not os.path.exists(folder.path())


def test_a_backend_of_its_own_is_not_asked_for_artifacts() -> None:
    x, w = made(plain)
    with counted():
        minidynamo.compile(product, backend=aot_eager)(x, w)
