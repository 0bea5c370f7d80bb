"""Random numbers of generators that a captured function is given or makes: torch's, NumPy's and Python's."""

import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import minidynamo

Function = Callable[..., Any]
BACKENDS = ["eager", "aot_eager"]


def noise(x: torch.Tensor, g: torch.Generator) -> Any:
    return x + torch.randn(x.shape, generator=g) * torch.rand(3, generator=g, dtype=torch.float64).float()


def order(x: torch.Tensor, g: torch.Generator) -> Any:
    first = torch.randint(0, 10, (3,), generator=g)
    y = x * torch.rand(3)  # from torch's own generator
    return y, torch.randperm(6, generator=g), first, torch.normal(0.0, 2.0, (2,), generator=g)


def seeded_inside(x: torch.Tensor, g: torch.Generator) -> Any:
    before = torch.rand(2, generator=g)
    same = g.manual_seed(7) is g
    return x * 2, before, torch.rand(2, generator=g), same, g.device.type


def written(x: torch.Tensor, g: torch.Generator) -> Any:
    y = torch.randn(2, 3, generator=g)
    y[0] = 0
    y.mul_(2)
    return y + x, y


def alone(x: torch.Tensor, g: torch.Generator) -> Any:
    return torch.randn(3, generator=g)


def twice(x: torch.Tensor, g: torch.Generator) -> Any:
    y = torch.randn(3, generator=g)
    return [y, y], x


def own(x: torch.Tensor, g: torch.Generator) -> Any:
    mine = torch.Generator().manual_seed(3)
    first, second = torch.randn(3, generator=mine), torch.randn(3, generator=mine)
    mine.manual_seed(3)
    return x + first * second, torch.randn(3, generator=mine), mine.initial_seed(), torch.rand(1)


def own_leaves(x: torch.Tensor, g: torch.Generator) -> Any:
    mine = torch.Generator(device="cpu")
    mine.manual_seed(5)
    y = x + torch.randn(3, generator=mine)
    return y, mine


def own_across(x: torch.Tensor, g: torch.Generator) -> Any:
    mine = torch.Generator().manual_seed(5)
    y = x + torch.randn(3, generator=mine)
    minidynamo.graph_break()
    return y, torch.randn(3, generator=mine)


def of_numpy(x: torch.Tensor, g: torch.Generator) -> Any:
    share = numpy.random.beta(0.4, 0.4)
    return share * x + (1 - share) * x.flip(0), float(numpy.random.normal(1.0, 2.0)), numpy.random.rand()


def ints_of_numpy(x: torch.Tensor, g: torch.Generator) -> Any:
    return x * numpy.random.randint(1, 5), numpy.random.randint(100)


def arrays_of_numpy(x: torch.Tensor, g: torch.Generator) -> Any:
    order = numpy.random.permutation(3)
    return x[:, order], torch.from_numpy(numpy.random.randn(2, 3)) + x, numpy.random.uniform(size=4)


def seeds_numpy(x: torch.Tensor, g: torch.Generator) -> Any:
    numpy.random.seed(3)
    return x * float(numpy.random.uniform())


def of_python(x: torch.Tensor, g: torch.Generator) -> Any:
    return x * random.randint(1, 4), random.randrange(0, 100, 5), x + random.random()


WHOLE = [
    noise,
    order,
    seeded_inside,
    written,
    alone,
    twice,
    own,
    own_leaves,
    of_numpy,
    ints_of_numpy,
    arrays_of_numpy,
    seeds_numpy,
    of_python,
]


def told(value: Any) -> Any:
    if isinstance(value, torch.Generator):
        return value.get_state().tolist()
    if isinstance(value, (torch.Tensor, numpy.ndarray)):
        return type(value), str(value.dtype), value.tolist()
    if isinstance(value, (list, tuple)):
        return [told(item) for item in value], [value.index(item) for item in value if item is value[0]]
    return type(value), value


def outcomes(function: Function, calls: int = 3) -> Any:
    torch.manual_seed(0)
    numpy.random.seed(0)
    random.seed(0)
    generator, seen = torch.Generator().manual_seed(11), []
    for call in range(calls):
        if call == 2:
            generator = torch.Generator().manual_seed(12)
        result = function(torch.arange(6.0).reshape(2, 3) + call // 2, generator)
        seen.append([told(item) for item in result] if isinstance(result, tuple) else told(result))
        seen.append((generator.get_state().tolist(), torch.get_rng_state().tolist(), str(numpy.random.get_state()), random.getstate()))
    return seen


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", WHOLE)
def test_one_graph(function: Function, backend: str) -> None:
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    assert outcomes(captured) == outcomes(function)
    assert len(minidynamo.debug.cache_entries(captured)) == 1


def test_in_inductor() -> None:
    assert outcomes(minidynamo.compile(of_numpy, fullgraph=True)) == outcomes(of_numpy)
    captured = minidynamo.compile(alone, fullgraph=True)
    assert outcomes(captured) == outcomes(alone)


def test_a_generator_behind_a_break() -> None:
    captured = minidynamo.compile(own_across, backend="eager")
    assert outcomes(captured) == outcomes(own_across)


def test_sizes_that_change() -> None:
    def function(x: torch.Tensor, g: torch.Generator) -> torch.Tensor:
        return x + torch.randn(x.shape, generator=g)

    captured = minidynamo.compile(function, backend="eager")
    generators = [torch.Generator().manual_seed(1) for _ in range(2)]
    for size in (2, 2, 3, 5, 8):
        x = torch.ones(size)
        assert torch.equal(captured(x, generators[0]), function(x, generators[1]))


def test_torchs_own_generator_is_another() -> None:
    def function(x: torch.Tensor, g: torch.Generator) -> Any:
        y = x * torch.rand(3)
        return y, torch.rand(3, generator=g)

    captured = minidynamo.compile(function, backend="eager")
    for generator in (torch.Generator().manual_seed(1), torch.default_generator):
        states = generator.get_state(), torch.get_rng_state()
        got = captured(torch.ones(3), generator)
        torch.set_rng_state(states[1])
        generator.set_state(states[0])
        assert told(got) == told(function(torch.ones(3), generator))


def test_what_an_error_leaves() -> None:
    def function(x: torch.Tensor, g: torch.Generator) -> torch.Tensor:
        return x + torch.randint(5, 2, (3,), generator=g)

    for called in (minidynamo.compile(function, backend="eager"), function):
        with pytest.raises(RuntimeError, match="random_ expects"):
            called(torch.ones(3), torch.Generator())


def decides(x: torch.Tensor, g: torch.Generator) -> torch.Tensor:
    return x + 1 if numpy.random.rand() < 0.5 else x - 1


def picks(x: torch.Tensor, g: torch.Generator) -> Any:
    return random.choice([torch.sin, torch.cos])(x), random.sample(range(9), 3)


def from_tensors(x: torch.Tensor, g: torch.Generator) -> Any:
    return torch.bernoulli(torch.full((3,), 0.5), generator=g), torch.empty(3).normal_(generator=g)


@pytest.mark.parametrize("function", [decides, picks, from_tensors])
def test_what_needs_the_value_is_a_break(function: Function) -> None:
    captured = minidynamo.compile(function, backend="eager")
    assert outcomes(captured) == outcomes(function)
    minidynamo.reset()
    with pytest.raises(minidynamo.Unsupported):
        minidynamo.compile(function, backend="eager", fullgraph=True)(torch.ones(2, 3), torch.Generator())
