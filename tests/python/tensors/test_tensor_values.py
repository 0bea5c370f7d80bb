"""Values of tensors that a trace knows, or that decide only whether the program raises: asserts, numbers read out of constants, and data
with tensors in it."""

import math
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import checking_programs
import pytest
import torch
from checking_programs import (
    LOG,
    asynchronous,
    between_effects,
    by_functions,
    by_numbers,
    handled,
    in_callee,
    in_mode,
    item_of_several,
    number_of_fraction,
    of_more_than_one,
    only,
    plain,
    raises_otherwise,
    several,
    sizes,
    with_computed_message,
    with_message,
    writes,
    writes_and_checks_itself,
    writes_and_handles,
    writes_and_raises,
    writes_without_message,
)

import minidynamo

BACKENDS = ["eager", "aot_eager"]
Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    minidynamo.reset()
    yield


def outcome(function: Function, *args: Any) -> Any:
    try:
        result = function(*args)
    except Exception as error:
        return (
            type(error),
            str(error),
            [
                (entry.name, entry.line)
                for entry in traceback.extract_tb(error.__traceback__)
                if entry.filename in (__file__, checking_programs.__file__)
            ][1:],
        )
    return result


def same(got: Any, expected: Any) -> None:
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(got, expected, rtol=0, atol=0)
        assert got.requires_grad == expected.requires_grad
    elif isinstance(expected, tuple) and not isinstance(expected[0], type):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    else:
        assert got == expected


# --- checks


CHECKS = [
    plain,
    with_message,
    with_computed_message,
    several,
    raises_otherwise,
    handled,
    in_mode,
    between_effects,
    in_callee,
    only,
    by_numbers,
    by_functions,
    asynchronous,
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", CHECKS)
def test_checks(function: Function, backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    optimized = minidynamo.compile(function, backend=backend, fullgraph=True)
    x = torch.arange(4.0)
    for given in (x, x + 1, x - 1, x, x - 2, x.clone().requires_grad_()):
        LOG.clear()
        expected, log = outcome(function, given), list(LOG)
        LOG.clear()
        same(outcome(optimized, given), expected)
        assert log == LOG
    assert len(minidynamo.debug.cache_entries(function)) == 2
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("function", [plain, raises_otherwise])
def test_checks_in_inductor(function: Function) -> None:
    optimized = minidynamo.compile(function, backend="inductor", fullgraph=True)
    x = torch.arange(4.0)
    for given in (x, x - 1, x + 1):
        same(outcome(optimized, given), outcome(function, given))


def test_gradients_behind_a_check() -> None:
    x = torch.arange(4.0, requires_grad=True)
    minidynamo.compile(with_message, backend="aot_eager", fullgraph=True)(x).sum().backward()
    assert torch.equal(x.grad, torch.ones(4))  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [writes, writes_without_message, writes_and_checks_itself])
def test_a_graph_that_writes_raises_an_assertion_error(function: Function, backend: str) -> None:
    optimized = minidynamo.compile(function, backend=backend, fullgraph=True)
    x = torch.arange(3.0)
    assert torch.equal(optimized(x), (torch.arange(3.0) + 1) * 2)
    expected = outcome(function, torch.arange(3.0) - 5)
    assert outcome(optimized, torch.arange(3.0) - 5)[:2] == expected[:2]


@pytest.mark.parametrize("function", [writes_and_handles, writes_and_raises])
def test_where_a_graph_writes_other_checks_are_breaks(function: Function) -> None:
    optimized = minidynamo.compile(function, backend="eager")
    for shift in (0, -5, 0):
        ours, theirs = torch.arange(3.0) + shift, torch.arange(3.0) + shift
        same(outcome(optimized, ours), outcome(function, theirs))
        assert torch.equal(ours, theirs)
    assert "data-dependent-branch" in {record.reason for record in minidynamo.debug.graph_breaks()}
    with pytest.raises(minidynamo.Unsupported):
        minidynamo.compile(function, backend="eager", fullgraph=True)(torch.arange(3.0))


@pytest.mark.parametrize("function", [of_more_than_one, item_of_several, number_of_fraction])
def test_other_conditions_do_as_they_do(function: Function) -> None:
    optimized = minidynamo.compile(function, backend="eager")
    for x in (torch.ones(3), torch.zeros(3)):
        same(outcome(optimized, x), outcome(function, x))


# --- known values


def index(x: torch.Tensor) -> torch.Tensor:
    return [10, 20, 30][torch.tensor(2)] * x


def item(x: torch.Tensor) -> torch.Tensor:
    return x * torch.tensor(3).item() + torch.tensor([1, 2]).tolist()[1]


def numbers(x: torch.Tensor) -> torch.Tensor:
    return x * int(torch.tensor(3)) + float(torch.tensor(1.5)) + bool(torch.tensor(1)) + math.sqrt(torch.tensor(4.0))


def branch(x: torch.Tensor) -> torch.Tensor:
    n, t = 3, torch.tensor(5)
    while t > n:
        n += 1
    return x * n if not torch.tensor([0]) else x


def as_numbers_of_operators(x: torch.Tensor) -> torch.Tensor:
    two = torch.tensor([1, 0, 1]).sum()
    y = torch.add(x, x, alpha=two)
    y = torch.addcmul(y, x, x, value=torch.tensor(2.0)) + torch.full((2,), torch.tensor(3.0))[0]
    return y[:two].view(torch.div(torch.tensor(8), 2, rounding_mode="trunc"), two)


def written(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    t = torch.zeros(3, dtype=torch.int64)
    t[1] += 2
    t.add_(1)
    t[1:].mul_(2)
    return x * t.tolist()[1] + sum(t.tolist()), t


def loops(x: torch.Tensor) -> torch.Tensor:
    for i in torch.arange(3):
        x = x * (int(i) + 1)
    for rate in [r.item() for r in torch.linspace(0, 0.3, 4)]:
        x = x + rate
    for _ in range(torch.tensor(2)):
        x = x + 1
    return x


def questions(x: torch.Tensor) -> torch.Tensor:
    if torch.equal(torch.ones(2), torch.tensor([1.0, 1.0])) and torch.allclose(torch.ones(2), torch.ones(2)) and 3 in torch.tensor([1, 3]):
        return x + 1
    return x


def escapes(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    t = torch.tensor([1, 2])
    return x * t[0].item(), t


KNOWN = [index, item, numbers, branch, as_numbers_of_operators, written, loops, sizes, questions, escapes]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", KNOWN)
def test_known(function: Function, backend: str) -> None:
    optimized = minidynamo.compile(function, backend=backend, fullgraph=True)
    x = torch.arange(12.0).reshape(3, 4)
    for given in (x, x + 1, x.clone().requires_grad_()):
        same(optimized(given), function(given))
    assert len(minidynamo.debug.cache_entries(function)) == 2


def test_known_in_inductor() -> None:
    x = torch.arange(12.0).reshape(3, 4)
    torch.testing.assert_close(
        minidynamo.compile(as_numbers_of_operators, backend="inductor", fullgraph=True)(x), as_numbers_of_operators(x)
    )


def test_a_known_tensor_is_made_anew_each_time() -> None:
    optimized = minidynamo.compile(escapes, backend="eager", fullgraph=True)
    first = optimized(torch.ones(2))[1]
    first.add_(10)
    assert optimized(torch.ones(2))[1].tolist() == [1, 2]


SCALE = [1.0, 2.0]


def of_a_global(x: torch.Tensor) -> torch.Tensor:
    return x * torch.tensor(SCALE).sum().item()


def test_what_values_come_from_is_guarded() -> None:
    optimized = minidynamo.compile(of_a_global, backend="eager", fullgraph=True)
    SCALE[:] = [1.0, 2.0]
    assert optimized(torch.ones(1)).item() == 3
    SCALE[1] = 5.0
    assert optimized(torch.ones(1)).item() == 6


def of_an_input(x: torch.Tensor) -> torch.Tensor:
    return x * x[0, 0].item()


def of_a_written_one(x: torch.Tensor) -> torch.Tensor:
    t = torch.zeros(2)
    t[0] = x[0, 1]
    return x * t[1].item() + t[0].item()


def of_a_written_view(x: torch.Tensor) -> torch.Tensor:
    t = torch.zeros(4)
    t[:2].copy_(x[0, :2])
    return x * t.sum().item()


def of_written_statistics(x: torch.Tensor) -> torch.Tensor:
    mean, variance = torch.zeros(4), torch.ones(4)
    torch.nn.functional.batch_norm(x, mean, variance, training=True)
    return x * mean[1].item()


def of_random_numbers(x: torch.Tensor) -> torch.Tensor:
    return x * 0 + (torch.rand(2)[0].item() < 2)


def of_new_memory(x: torch.Tensor) -> torch.Tensor:
    return x + (torch.empty(2)[0].item() is None)


@pytest.mark.parametrize(
    "function", [of_an_input, of_a_written_one, of_a_written_view, of_written_statistics, of_random_numbers, of_new_memory]
)
def test_unknown(function: Function) -> None:
    optimized = minidynamo.compile(function, backend="eager")
    for start in (0.0, 3.0, 5.0):
        x = torch.arange(12.0).reshape(3, 4) + start
        same(optimized(x), function(x))
    assert {record.reason for record in minidynamo.debug.graph_breaks()} <= {"scalar-read"}


# --- data with tensors in it


def of_elements(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([x[0, 0], x[0, 1]]) + 1


def of_elements_and_numbers(x: torch.Tensor) -> torch.Tensor:
    return torch.tensor([[x[0, 0], 2], [3, x[0:1, 2]], (True, x[1, 1].long())]) + torch.as_tensor([x[0, 1].double(), 2.0])


def of_dtype(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.tensor([x[0, 0], 1], dtype=torch.float64), torch.tensor([x[0, 0] > 1, True]), torch.as_tensor([x[0, 0].half(), 1.0])


def like_another(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return (
        x.new_tensor([1.0, 2.0]),
        x.long().new_tensor([[1, 2]]),
        x.new_tensor(data=3),
        x.new_tensor([x[0, 0], 3]),
        x.new_tensor([1], dtype=torch.int8),
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", [of_elements, of_elements_and_numbers, of_dtype, like_another])
def test_data(function: Function, backend: str) -> None:
    optimized = minidynamo.compile(function, backend=backend, fullgraph=True)
    for start in (0.0, 3.0):
        x = torch.arange(12.0).reshape(3, 4) + start
        same(optimized(x), function(x))
    assert len(minidynamo.debug.cache_entries(function)) == 1


def test_data_of_what_requires_a_gradient_is_detached() -> None:
    x = torch.arange(12.0).reshape(3, 4).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same(minidynamo.compile(of_elements, backend="eager", fullgraph=True)(x), of_elements(x))


@pytest.mark.parametrize("data", [lambda x: [x[0], x[1]], lambda x: [[x[0, 0]], [x[0, 1], 2]], lambda x: [x[0, 0], "a"]])
def test_data_that_torch_refuses(data: Function) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.tensor(data(x))

    x = torch.arange(12.0).reshape(3, 4)
    same(outcome(minidynamo.compile(function, backend="eager"), x), outcome(function, x))
