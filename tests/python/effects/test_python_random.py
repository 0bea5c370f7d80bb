"""Random numbers of Python's: captured or not, a program draws the numbers that it draws eagerly, and leaves generators as it does."""

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo
from minidynamo import debug

X = torch.tensor([1.0, -2.0])
OTHER = random.Random(5)


class Derived(random.Random):
    """Draws as its base does."""


class Counting(random.Random):
    count = 0

    def random(self) -> float:
        self.count += 1
        return super().random()


def outcome(function: Callable[..., Any], calls: int, *arguments: Any) -> Any:
    random.seed(1)
    OTHER.seed(2)
    torch.manual_seed(3)
    results = [function(X.clone(), *arguments) for _ in range(calls)]
    return str(results), random.getstate(), OTHER.getstate(), torch.get_rng_state().tolist()


def agree(function: Callable[..., Any], *arguments: Any, backend: str = "eager", whole: bool = True, calls: int = 3) -> None:
    captured = minidynamo.optimize(backend, fullgraph=whole)(function)
    assert outcome(captured, calls, *arguments) == outcome(function, calls, *arguments)
    assert len(debug.cache_entries(function)) == 1


def draws(x: torch.Tensor) -> Any:
    return x * random.random() + OTHER.uniform(1, 2), random.gauss(0, 1), OTHER.expovariate(0.5) - x / random.normalvariate(3, 0.1)


def draws_in_loop(x: torch.Tensor) -> torch.Tensor:
    for step in range(5):
        x = x + (random.random() - 0.5) * step
    return x


def draws_beside_torch(x: torch.Tensor) -> torch.Tensor:
    return x * random.random() + torch.rand(2) * random.random()


def draws_for_nothing(x: torch.Tensor) -> torch.Tensor:
    random.random()
    return x + 1


def gives_numbers_alone(x: torch.Tensor) -> Any:
    random.random()
    second, third = OTHER.random(), random.uniform(2, 3)
    return third, second


def seeds(x: torch.Tensor) -> Any:
    first = random.random()
    random.seed(7)
    OTHER.seed(first > 2)
    return x * first, random.random(), random.getrandbits(40), OTHER.choice("abc")


def seeds_and_goes_back(x: torch.Tensor) -> Any:
    random.seed(4)
    state = random.getstate()
    first = random.random()
    random.setstate(state)
    return x * first, random.random() == first, random.gauss(0, 1), random.gauss(0, 1)


def seeds_around_a_break(x: torch.Tensor) -> Any:
    OTHER.seed(3)
    first = OTHER.random()
    minidynamo.graph_break()
    return x * OTHER.random() + first


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "function",
    [draws, draws_in_loop, draws_beside_torch, draws_for_nothing, gives_numbers_alone, seeds_and_goes_back],
)
def test_one_graph(function: Callable[..., Any], backend: str) -> None:
    agree(function, backend=backend)


def test_inductor() -> None:
    agree(draws_in_loop, backend="inductor")


@pytest.mark.parametrize("function", [seeds, seeds_around_a_break])
def test_with_breaks(function: Callable[..., Any]) -> None:
    agree(function, whole=False)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.complex64])
def test_numbers_do_not_change_what_tensors_are(dtype: torch.dtype) -> None:
    def f(x: torch.Tensor) -> Any:
        y = torch.tensor([1, 0, 3]).to(dtype)
        return y * random.random(), random.random() + y, y - random.uniform(1, 2), y[0] / random.gauss(5, 0.1)

    agree(f)


@pytest.mark.parametrize("make", [random.Random, Derived, Counting])
@pytest.mark.parametrize("seeded", [False, True])
def test_generators_from_before_the_call(make: Callable[[int], random.Random], seeded: bool) -> None:
    def f(x: torch.Tensor, generator: random.Random) -> torch.Tensor:
        if seeded:
            generator.seed(9)
        return x * generator.random() + generator.uniform(0, 1)

    captured = minidynamo.optimize("eager", fullgraph=make is not Counting)(f)
    one, other = make(3), make(3)
    for _ in range(3):
        assert torch.equal(captured(X, one), f(X, other))
    assert one.getstate() == other.getstate() and vars(one) == vars(other)


def test_one_generator_on_two_ways() -> None:
    def f(x: torch.Tensor, a: random.Random, b: random.Random) -> Any:
        a.seed(1)
        return x * b.random(), a.random()

    captured = minidynamo.optimize("eager", fullgraph=True)(f)
    for make in (lambda: (random.Random(5), random.Random(6)), lambda: (random.Random(5),) * 2):
        assert str([captured(X, *pair) for pair in [make()] * 2]) == str([f(X, *pair) for pair in [make()] * 2])


def test_nothing_is_drawn_by_an_entry_that_does_not_fit() -> None:
    def f(x: torch.Tensor, scale: float) -> torch.Tensor:
        return x * random.random() * scale

    captured = minidynamo.optimize("eager", fullgraph=True)(f)
    for _ in range(2):
        random.seed(1)
        actual = [captured(X, scale) for scale in (1.0, 2.0, 1.0, 3.0)]
        random.seed(1)
        assert str(actual) == str([f(X, scale) for scale in (1.0, 2.0, 1.0, 3.0)])


def test_a_backend_sees_a_tensor() -> None:
    seen: list[Any] = []

    def backend(graph_module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        seen.append({(one.dtype, tuple(one.shape)) for one in inputs})
        before = random.getstate()
        random.random()  # a backend may draw as it likes
        assert before != random.getstate()
        return graph_module.forward

    random.seed(1)
    result = minidynamo.optimize(backend, fullgraph=True)(lambda x: x * random.random())(X)
    random.seed(1)
    assert torch.equal(result, X * random.random())
    assert seen == [{(torch.float32, (2,)), (torch.float64, ())}]


def test_a_question_is_a_break_behind_the_draw() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if random.random() < 0.5 else x - 1

    agree(f, whole=False, calls=8)
    assert {record.reason for record in debug.graph_breaks()} == {"data-dependent-branch"}
    assert minidynamo.stats()["graphs"] == 2


@pytest.mark.parametrize(
    "draw",
    [
        lambda: random.randint(1, 6),
        lambda: random.choice([1, 2, 3]),
        lambda: int(random.random() * 10),
        lambda: random.sample(range(9), 2)[0],
        lambda: random.randrange(-(2**70), 2**70) % 5,
        lambda: random.randint(0, 2**64) % 7,
        lambda: random.Random(random.random()).random(),
    ],
)
def test_what_no_graph_is_given(draw: Callable[[], float]) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * draw()

    captured = minidynamo.optimize("eager")(f)
    assert outcome(captured, 2) == outcome(f, 2)


@pytest.mark.parametrize("captured_before", [False, True])
def test_a_generator_class_with_another_random(captured_before: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * random.gammavariate(1.0, 3.0)

    captured = minidynamo.optimize("eager")(f)
    if captured_before:
        captured(torch.ones(1))
    drawn: list[float] = []

    def replaced(self: random.Random) -> float:
        drawn.append(0.5)
        return 0.5

    monkeypatch.setattr(random.Random, "random", replaced)
    assert captured(torch.ones(1)) == torch.ones(1) * -math.log(0.5) * 3.0
    assert drawn == [0.5]


def test_a_graph_that_fails_draws_once() -> None:
    def f(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return x[index] * random.random()

    captured = minidynamo.optimize("eager", fullgraph=True)(f)
    captured(X, torch.tensor([0]))
    random.seed(1)
    with pytest.raises(IndexError):
        captured(X, torch.tensor([5]))
    assert torch.equal(captured(X, torch.tensor([1])), X[1:] * expected_number(1))


def expected_number(behind: int) -> float:
    generator = random.Random(1)
    for _ in range(behind):
        generator.random()
    return generator.random()
