"""A captured function is a function: it is copied, pickled and looked at as one."""

import asyncio
import copy
import inspect
import io
import logging
import pickle
import subprocess
import sys
import types
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import minidynamo

X = torch.tensor([1.0, -2.0, 3.0])
SCALE = 2


def plain(x: torch.Tensor, y: int = 2) -> torch.Tensor:
    return x * SCALE + y


@minidynamo.optimize("eager")
def by_name(x: torch.Tensor, y: int = 2, *, z: int = 3) -> torch.Tensor:
    """Adds."""
    return x + y + z


@minidynamo.optimize
def bare(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


@minidynamo.disable
def kept_out(x: torch.Tensor) -> torch.Tensor:
    return x + 1


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


class Decorated(Scaled):
    @minidynamo.optimize("eager")
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.weight


def with_captured_forward() -> Scaled:
    module = Scaled()
    module.forward = minidynamo.optimize("eager")(module.forward)  # type: ignore[method-assign]
    return module


def saved(value: Any) -> Any:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=False)


# Copies and pickles


@pytest.mark.parametrize("function", [by_name, bare, kept_out], ids=["optimize", "bare", "disable"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_decorated_name_is_copied_and_pickled_as_a_function(function: Any, protocol: int) -> None:
    assert copy.copy(function) is function and copy.deepcopy(function) is function
    assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert saved(function) is function


def test_a_captured_function_under_another_name_is_pickled_with_its_settings() -> None:
    captured = minidynamo.compile(plain, backend="eager", dynamic=True)
    captured.note = "kept"  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(captured))
    assert again.__wrapped__ is plain and again.config is captured.config and again.note == "kept"  # type: ignore[attr-defined]
    assert torch.equal(again(X), plain(X))


def test_a_captured_function_is_captured_again_with_other_settings() -> None:
    captured = minidynamo.compile(by_name, backend="eager", dynamic=True)
    again = pickle.loads(pickle.dumps(captured))
    assert again.__wrapped__ is by_name.__wrapped__ and again.config is captured.config  # type: ignore[attr-defined]


def test_a_local_function_cannot_be_pickled_as_without_capture() -> None:
    captured = minidynamo.compile(lambda x: x + 1, backend="eager")
    assert copy.deepcopy(captured) is captured
    with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
        pickle.dumps(captured)


@pytest.mark.parametrize("copied", [copy.deepcopy, saved, lambda module: torch.optim.swa_utils.AveragedModel(module).module])
@pytest.mark.parametrize("make", [with_captured_forward, Decorated], ids=["attribute", "decorated"])
def test_a_copy_of_a_module_computes_with_its_own_parameters(make: Callable[[], Scaled], copied: Callable[[Any], Any]) -> None:
    module = make()
    module(X)
    other = copied(module)
    with torch.no_grad():
        other.weight.fill_(5)
    assert torch.equal(other(X), X * 5) and torch.equal(module(X), X * 2)


def test_a_captured_object_is_copied_with_what_it_holds() -> None:
    class Adds:
        def __init__(self) -> None:
            self.amounts = [1]

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.amounts[0]

    captured = minidynamo.optimize("eager")(Adds())
    shallow, deep = copy.copy(captured), copy.deepcopy(captured)
    captured.__wrapped__.amounts[0] = 7  # type: ignore[attr-defined]
    assert [f(X).tolist() for f in (captured, shallow, deep)] == [(X + n).tolist() for n in (7, 7, 1)]


def test_spawned_processes_find_captured_functions(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("""
import multiprocessing
import torch
import minidynamo

@minidynamo.compile(backend="eager")
def work(x):
    return x + 1

@minidynamo.compile(backend="eager")
def collate(samples):
    return torch.stack(samples) * 2

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [1, 2]))
    data = [torch.ones(1), torch.ones(1)]
    loader = torch.utils.data.DataLoader(data, 2, collate_fn=collate, num_workers=1, multiprocessing_context="spawn")
    print([batch.tolist() for batch in loader])
""")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ["[2, 3]", "[[[2.0], [2.0]]]"], done.stderr


# Looked at


def test_attributes_are_those_of_the_function_beneath() -> None:
    captured: Any = minidynamo.compile(plain, backend="eager")
    for name in ("__code__", "__defaults__", "__kwdefaults__", "__globals__", "__closure__"):
        assert getattr(captured, name) is getattr(plain, name), name
    assert isinstance(captured, types.FunctionType) and inspect.isfunction(captured) and inspect.isroutine(captured)
    assert inspect.getfile(captured) == __file__ and inspect.getsource(captured) == inspect.getsource(plain)
    assert inspect.signature(captured) == inspect.signature(plain)
    assert inspect.getfullargspec(captured) == inspect.getfullargspec(plain)
    assert inspect.getclosurevars(captured) == inspect.getclosurevars(plain)
    method: Any = with_captured_forward().forward
    assert inspect.ismethod(method) and method.__func__ is Scaled.forward and isinstance(method.__self__, Scaled)
    assert str(inspect.signature(method)) == str(inspect.signature(Scaled().forward))


def test_the_bare_decorator_shows_the_function_beneath() -> None:
    function: Any = bare
    assert inspect.isfunction(function) and inspect.getfile(function) == __file__
    assert function.__code__ is function.__wrapped__.__code__
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        function.absent  # noqa: B018


def test_assigned_defaults_are_those_of_the_next_call() -> None:
    def adds(x: torch.Tensor, y: int = 1) -> torch.Tensor:
        return x + y

    captured: Any = minidynamo.optimize("eager")(adds)
    assert torch.equal(captured(X), X + 1)
    captured.__defaults__ = (5,)
    assert adds.__defaults__ == (5,) and torch.equal(captured(X), X + 5)


def test_tools_of_torch_take_it_for_a_function() -> None:
    captured: Any = minidynamo.compile(plain, backend="eager")

    class Calls(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return captured(x)

    assert torch.equal(torch.fx.symbolic_trace(captured)(X, 2), plain(X))
    assert torch.equal(torch.export.export(Calls(), (X,)).module()(X), plain(X))
    scripted = torch.jit.script(minidynamo.compile(for_script, backend="eager"))
    assert torch.equal(scripted(X), for_script(X))
    assert torch.equal(torch.jit.script(Decorated())(X), X * 2)


def for_script(x: torch.Tensor, y: int = 2) -> torch.Tensor:
    return x * y


def test_a_trace_sees_a_function_too() -> None:
    captured: Any = minidynamo.compile(plain, backend="eager")

    @minidynamo.compile(backend="eager", fullgraph=True)
    def f(x: torch.Tensor) -> Any:
        if isinstance(captured, types.FunctionType):
            return captured(x)
        return x

    assert torch.equal(f(X), plain(X))


# Functions whose frames stop and go on


def test_generator_and_asynchronous_functions_are_given_back(caplog: pytest.LogCaptureFixture) -> None:
    def numbers(x: torch.Tensor) -> Iterator[torch.Tensor]:
        yield x + 1

    async def one(x: torch.Tensor) -> torch.Tensor:
        await asyncio.sleep(0)
        return x + 1

    async def many(x: torch.Tensor) -> AsyncIterator[torch.Tensor]:
        yield x + 1

    caplog.set_level(logging.WARNING, "minidynamo")
    for function, kind in (
        (numbers, "a generator function"),
        (one, "an asynchronous function"),
        (many, "an asynchronous generator function"),
    ):
        caplog.clear()
        for _ in range(2):
            assert minidynamo.compile(function, backend="eager") is function
        (record,) = caplog.records
        text = record.getMessage()
        assert text.startswith(f"minidynamo runs {function.__qualname__} uncaptured") and kind in text and __file__ in text
    assert torch.equal(asyncio.run(one(X)), X + 1)


def test_fullgraph_refuses_a_generator_function() -> None:
    def numbers(x: torch.Tensor) -> Iterator[torch.Tensor]:
        yield x + 1

    with pytest.raises(minidynamo.Unsupported):
        list(minidynamo.compile(numbers, backend="eager", fullgraph=True)(X))
