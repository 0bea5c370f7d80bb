"""Functions behind functools' caches that give objects, and caches under objects: one graph from the first call on, and no recapture."""

import functools
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import minidynamo

BACKENDS = ["eager", "aot_eager"]
CALLS: list[Any] = []


class Recipe:
    def __init__(self, size: int) -> None:
        self.size = size
        self.parts = [size, size + 1]


class Module(torch.nn.Module):
    @functools.lru_cache(8)  # noqa: B019
    def table(self, size: int) -> list[int]:
        return [size, size * 2]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.table(3)[1]


class Caches:
    """A set of cached functions of its own for each test."""

    def __init__(self) -> None:
        self.recipe = functools.lru_cache(8)(Recipe)
        self.steps = functools.lru_cache(8)(self.steps_of)
        self.table = functools.cache(lambda size: torch.arange(float(size)) * 2)
        self.noisy = functools.cache(lambda size: torch.rand(size))

    @staticmethod
    def steps_of(recipe: Recipe, shape: torch.Size, scale: int = 1) -> tuple[list[int], None]:
        return [part * scale * len(shape) for part in recipe.parts], None


@pytest.fixture
def caches() -> Iterator[Caches]:
    minidynamo.reset()
    yield Caches()


def check(make: Callable[[Caches], Callable[[torch.Tensor], torch.Tensor]], backend: str) -> None:
    """With caches that are empty at the first call, and with such that are full."""
    for is_full in (False, True):
        minidynamo.reset()
        mine, theirs = Caches(), Caches()
        function, reference = make(mine), make(theirs)
        if is_full:
            function(torch.ones(4)), reference(torch.ones(4))
        captured = minidynamo.compile(function, backend=backend, fullgraph=True)
        for scale in (1.0, 1.0, 3.0):
            x, y = torch.full((4,), scale), torch.full((4,), scale)
            torch.testing.assert_close(captured(x), reference(y))
        assert len(minidynamo.debug.cache_entries(captured)) == 1
        for name in ("recipe", "steps", "table"):
            mine_info, theirs_info = getattr(mine, name).cache_info(), getattr(theirs, name).cache_info()
            assert (mine_info.misses, mine_info.currsize) == (theirs_info.misses, theirs_info.currsize)


def uses_object(caches: Caches) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: x * caches.recipe(3).size


def uses_object_as_key(caches: Caches) -> Callable[[torch.Tensor], torch.Tensor]:
    def function(x: torch.Tensor) -> torch.Tensor:
        steps, nothing = caches.steps(caches.recipe(3), x.shape, scale=2)
        more, _ = caches.steps(caches.recipe(5), x.shape)
        return x * steps[0] + more[1] if nothing is None else x

    return function


def uses_tensor(caches: Caches) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda x: x * caches.table(4) + caches.table(4)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("make", [uses_object, uses_object_as_key, uses_tensor], ids=lambda make: make.__name__)
def test_one_graph(make: Any, backend: str) -> None:
    check(make, backend)


def test_object_that_leaves(caches: Caches) -> None:
    """The very object that the cache keeps."""
    captured = minidynamo.compile(lambda x: (x + 1, caches.recipe(3)), backend="eager", fullgraph=True)
    for _ in range(2):
        assert captured(torch.ones(4))[1] is caches.recipe(3)


def test_object_that_changes(caches: Caches) -> None:
    captured = minidynamo.compile(uses_object_as_key(caches), backend="eager", fullgraph=True)
    captured(torch.ones(4))
    caches.steps(caches.recipe(3), torch.Size([4]), scale=2)[0][0] = 100
    assert captured(torch.ones(4))[0].item() == 100 + 6
    caches.recipe.cache_clear()
    assert captured(torch.ones(4))[0].item() == 6 + 6


def test_what_came_before_is_seen(caches: Caches) -> None:
    """A function that sees what the frame has done before cannot be called before it."""
    state = Recipe(1)
    seen = functools.cache(lambda key: [state.size, key])

    def function(x: torch.Tensor) -> torch.Tensor:
        state.size = 7
        return x * seen(3)[0]

    captured = minidynamo.compile(function, backend="eager")
    for _ in range(3):
        assert captured(torch.ones(4))[0].item() == 7


def test_effects_happen_once(caches: Caches) -> None:
    told = functools.cache(lambda key: (CALLS.append(key), [key])[1])
    CALLS.clear()
    captured = minidynamo.compile(lambda x: x * told(3)[0], backend="eager")
    for _ in range(3):
        assert captured(torch.ones(4))[0].item() == 3
    assert CALLS == [3]


def test_random_numbers(caches: Caches) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x * torch.rand(4) + caches.noisy(4)

    captured = minidynamo.compile(function, backend="eager")
    outcomes = []
    for run in (captured, function):
        caches.noisy.cache_clear()
        torch.manual_seed(0)
        outcomes.append([run(torch.ones(4)), run(torch.ones(4)), torch.rand(3)])
    torch.testing.assert_close(outcomes[0], outcomes[1])


def test_modes(caches: Caches) -> None:
    weight = torch.nn.Parameter(torch.ones(4))
    scaled = functools.cache(lambda factor: weight * factor)

    def function(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return x * scaled(3)

    captured = minidynamo.compile(function, backend="eager")
    for _ in range(3):
        assert not captured(torch.ones(4)).requires_grad
    assert not scaled(3).requires_grad


def test_errors(caches: Caches) -> None:
    """A call that fails for real is not made before the frame is traced again."""

    def fails(key: int) -> list[int]:
        if len(CALLS) > 1:
            raise ValueError(key)
        return [key]

    CALLS.clear()
    cached = functools.cache(fails)
    captured = minidynamo.compile(lambda x: x * cached(3)[0], backend="eager")
    assert captured(torch.ones(4))[0].item() == 3
    cached.cache_clear()
    CALLS.extend("ab")
    with pytest.raises(ValueError, match="3"):
        captured(torch.ones(4))


@pytest.mark.parametrize("backend", BACKENDS)
def test_method(backend: str) -> None:
    minidynamo.reset()
    module = Module()
    captured = minidynamo.compile(module, backend=backend, fullgraph=True)
    for _ in range(2):
        torch.testing.assert_close(captured(torch.ones(4)), torch.full((4,), 6.0))
    other = minidynamo.compile(Module(), backend=backend, fullgraph=True)
    torch.testing.assert_close(other(torch.ones(4)), torch.full((4,), 6.0))


def test_entry_keeps_nothing_alive() -> None:
    minidynamo.reset()
    module = Module()
    captured = minidynamo.compile(module, backend="eager", fullgraph=True)
    captured(torch.ones(4))
    died = weakref.ref(module)
    Module.table.cache_clear()
    del module, captured
    gc.collect()
    assert died() is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_einops(backend: str) -> None:
    einops = pytest.importorskip("einops")
    layers = pytest.importorskip("einops.layers.torch")
    from einops import einops as implementation

    reorder = torch.nn.Sequential(layers.Rearrange("a (b c) -> (a b) c", b=2), layers.Reduce("a b -> a", "mean"))
    mix = layers.EinMix("a b -> a c", weight_shape="b c", bias_shape="c", b=4, c=5)

    def function(x: torch.Tensor) -> Any:
        y = einops.rearrange(x, "a (b c) -> (a b) c", b=2)
        z = einops.repeat(y, "a b -> a b n", n=3)
        packed, shapes = einops.pack([x, x], "* b")
        return (
            einops.reduce(z, "a b n -> a n", "max"),
            einops.einsum(x, x, "a b, a b -> a"),
            einops.rearrange([x, x], "n a b -> a n b"),
            einops.unpack(packed, shapes, "* b"),
            einops.parse_shape(x, "a b")["b"],
            reorder(x),
            mix(x),
        )

    minidynamo.reset()
    einops.rearrange(torch.ones(1, 1), "a b -> b a")  # which looks for torch once in a process
    for cache in (implementation._prepare_transformation_recipe, implementation._reconstruct_from_shape):
        cache.cache_clear()
    captured = minidynamo.compile(function, backend=backend, fullgraph=True)
    for scale in (1.0, 2.0, 3.0):
        x = torch.arange(12.0).reshape(3, 4) * scale
        torch.testing.assert_close(captured(x), function(x))
    assert len(minidynamo.debug.cache_entries(captured)) == 1


def test_equal_calls_are_made_once_before() -> None:
    @functools.lru_cache
    def steps(count: int) -> list[int]:
        return list(range(count))

    f = minidynamo.compile(lambda x: (x * steps(3)[1], steps(3) is steps(3), steps(count=3) is steps(3)), backend="eager", fullgraph=True)
    result, is_same, is_other_key = f(torch.ones(2))
    assert torch.equal(result, torch.ones(2)) and is_same and not is_other_key
    assert steps.cache_info() == (5, 2, 128, 2)  # as docs/effects.md says, one hit more for each call that was made before: eagerly 3
