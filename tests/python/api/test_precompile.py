"""`precompile`: what a call would capture and compile, without the call."""

import pytest
import torch

import minidynamo


def captured() -> int:
    return minidynamo.stats()["captured"]


def test_a_function_is_compiled_and_not_run() -> None:
    minidynamo.reset()
    log: list[int] = []

    @minidynamo.compile(backend="eager", fullgraph=True)
    def f(x: torch.Tensor, *more: int, by: int = 2) -> torch.Tensor:
        log.append(len(more))
        return x * by + sum(more)

    x = torch.ones(3)
    assert f.precompile(x, 1, 2, by=3) is True
    assert f.precompile(x, 1, 2, by=3) is True
    assert captured() == 1 and log == []
    assert torch.equal(f(x, 1, 2, by=3), x * 3 + 3)
    assert captured() == 1 and log == [2]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_module_is_warmed_for_each_size(backend: str) -> None:
    minidynamo.reset()
    module = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.BatchNorm1d(3))
    optimized = minidynamo.compile(module, backend=backend)
    mean = module[1].running_mean.clone()
    for size in (2, 3, 5):
        optimized.precompile(torch.ones(size, 4, requires_grad=True))
    assert captured() == 2 and torch.equal(module[1].running_mean, mean)
    for size in (3, 2, 5, 9):
        x = torch.randn(size, 4, requires_grad=True)
        result = optimized(x)
        result.sum().backward()
    assert captured() == 2 and x.grad is not None


def test_a_lazy_module() -> None:
    minidynamo.reset()
    module = torch.nn.LazyLinear(3)
    optimized = minidynamo.compile(module, backend="eager")
    x = torch.ones(2, 4)
    assert optimized.precompile(x)
    assert captured() == 1 and module.weight.shape == (3, 4)
    assert torch.equal(optimized(x), module(x)) and captured() == 1


def test_methods_and_objects() -> None:
    minidynamo.reset()

    class Scale:
        rate = 3

        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.rate

        def add(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.rate

    scale, x = Scale(), torch.ones(2)
    called, method = minidynamo.compile(scale, backend="eager"), minidynamo.compile(scale.add, backend="eager")
    assert called.precompile(x) and method.precompile(x) and captured() == 2
    assert torch.equal(called(x), x * 3) and torch.equal(method(x), x + 3) and captured() == 2


def test_where_the_graph_breaks_the_rest_waits_for_the_call() -> None:
    minidynamo.reset()
    log: list[str] = []

    @minidynamo.compile(backend="eager")
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        if y.sum() > 0:
            log.append("positive")
        return y * 2

    x = torch.ones(2)
    assert f.precompile(x) is False
    assert captured() == 1 and log == []
    assert torch.equal(f(x), (x + 1) * 2)
    assert captured() == 2 and log == ["positive"]


def test_what_is_not_captured_does_not_run_either() -> None:
    minidynamo.reset()
    log: list[int] = []

    @minidynamo.disable
    def disabled(x: torch.Tensor) -> torch.Tensor:
        log.append(2)
        return x

    x = torch.ones(2)
    assert minidynamo.compile(disabled, backend="eager").precompile(x) is False
    with torch.compiler.set_stance("force_eager"):
        assert minidynamo.compile(lambda x: log.append(3), backend="eager").precompile(x) is False
    assert log == []


def test_errors_are_those_of_the_call() -> None:
    minidynamo.reset()

    @minidynamo.compile(backend="eager", fullgraph=True)
    def f(x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x

    with pytest.raises(minidynamo.Unsupported):
        f.precompile(torch.ones(2))
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        f.precompile()


def test_no_further_capture_after_it() -> None:
    """With `error_on_recompile`, a server that was warmed promises that no call waits for a compiler."""
    minidynamo.reset()

    @minidynamo.compile(backend="eager")
    def f(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    f.precompile(torch.ones(2, 3))
    f.precompile(torch.ones(4, 3))
    with minidynamo.config.patch(error_on_recompile=True):
        assert torch.equal(f(torch.ones(7, 3)), torch.ones(7, 3).sin())
        with pytest.raises(RuntimeError):
            f(torch.ones(7, 3, 2))


def test_within_a_captured_function() -> None:
    minidynamo.reset()
    inner = minidynamo.compile(lambda x: x * 2, backend="eager")

    @minidynamo.compile(backend="eager")
    def f(x: torch.Tensor) -> tuple[torch.Tensor, bool]:
        y = x + 1
        return y, inner.precompile(y)

    result, is_whole = f(torch.ones(2))
    assert torch.equal(result, torch.full((2,), 2.0)) and is_whole is True
