"""Tensors that wrap tensors: classes with a __torch_dispatch__ of their own that can be taken apart and put together again."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._pytree import tree_map_only

import minidynamo

# mypy: disable-error-code="no-untyped-call, no-untyped-def, misc, attr-defined"


class Pair(torch.Tensor):
    """Two tensors of one size, of which each operator does both."""

    a: torch.Tensor
    b: torch.Tensor

    @staticmethod
    def __new__(cls, a, b, size=None, stride=None):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            a.shape if size is None else size,
            strides=a.stride() if stride is None else stride,
            storage_offset=a.storage_offset(),
            dtype=a.dtype,
            device=a.device,
            requires_grad=a.requires_grad,
        )

    def __init__(self, a, b, size=None, stride=None):
        self.a = a
        self.b = b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["a"], inner["b"], size, stride)

    def __repr__(self):
        return f"{type(self).__name__}({self.a!r}, {self.b!r})"

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        def both(name):
            def part(p):
                return getattr(p, name)

            return func(*tree_map_only(Pair, part, args), **tree_map_only(Pair, part, kwargs or {}))

        first, second = both("a"), both("b")
        if isinstance(first, torch.Tensor):
            return torch.utils._python_dispatch.return_and_correct_aliasing(func, args, kwargs or {}, cls(first, second))
        if isinstance(first, tuple | list):
            return type(first)(cls(x, y) for x, y in zip(first, second, strict=True))
        return first

    def swapped(self):
        return Pair(self.b, self.a)

    def doubled(self):
        return self * 2

    @property
    def rows(self):
        return self.shape[0]


@dataclasses.dataclass(frozen=True)
class Format:
    scale: float
    name: str


class Scaled(torch.Tensor):
    """A tensor kept as whole numbers and a scale; whatever is done with it is done with the product."""

    @staticmethod
    def __new__(cls, numbers, how):
        return torch.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=torch.float32, device=numbers.device)

    def __init__(self, numbers, how):
        self.numbers = numbers
        self.how = how

    def __tensor_flatten__(self):
        return ["numbers"], self.how

    @classmethod
    def __tensor_unflatten__(cls, inner, how, size, stride):
        return cls(inner["numbers"], how)

    def __repr__(self):
        return f"Scaled({self.numbers!r}, {self.how})"

    def plain(self):
        return self.numbers.to(torch.float32) * self.how.scale

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        if func is torch.ops.aten.detach.default:
            return Scaled(args[0].numbers, args[0].how)
        return func(*tree_map_only(Scaled, Scaled.plain, args), **tree_map_only(Scaled, Scaled.plain, kwargs or {}))


class Loud(Pair):
    """With torch functions of its own."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class Slotted(Pair):
    """Without a dict of its own to hold its tensors."""

    __slots__ = ("a", "b")


def _scaled() -> Scaled:
    return Scaled(torch.arange(12).view(3, 4), Format(0.5, "int"))


def _pair(*sizes: int, gradient: bool = False) -> Pair:
    torch.manual_seed(0)
    return Pair(torch.randn(*sizes), torch.randn(*sizes)).requires_grad_(gradient)


def _plain(value: Any) -> Any:
    """The plain form of a result, without its class's own ways of showing itself."""
    if isinstance(value, Pair):
        return [type(value).__name__, value.requires_grad, tuple(value.shape), value.stride(), _plain(value.a), _plain(value.b)]
    if isinstance(value, Scaled):
        return ["Scaled", value.how, _plain(value.numbers)]
    if isinstance(value, torch.Tensor):
        return [str(value.dtype), value.tolist()]
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return value


_PROGRAMS: list[tuple[str, Callable[..., Any], Callable[[], tuple[Any, ...]]]] = [
    ("arithmetic", lambda x: (x * 2 + 1).sum(0), lambda: (_pair(3, 4),)),
    ("two", lambda x, y: x @ y.t() - x.mean(), lambda: (_pair(3, 4), _pair(5, 4))),
    ("with a plain one", lambda x, y: torch.cat([x, x * 0 + y]), lambda: (_pair(3, 4), torch.ones(4))),
    ("views", lambda x: x.view(2, 6).t()[1:].contiguous(), lambda: (_pair(3, 4),)),
    ("several results", lambda x: [part + 1 for part in x.chunk(2)], lambda: (_pair(4, 4),)),
    ("functions", lambda x: torch.nn.functional.layer_norm(torch.relu(x), (4,)), lambda: (_pair(3, 4),)),
    ("metadata", lambda x: x + x.shape[0] + x.dim() + x.numel() + (x.dtype == torch.float32), lambda: (_pair(3, 4),)),
    ("classes", lambda x: (x + 1 if type(x) is Pair and isinstance(x, torch.Tensor) else x, isinstance(x, Scaled)), lambda: (_pair(3, 4),)),
    ("methods", lambda x: x.doubled() + x.rows, lambda: (_pair(3, 4),)),
    ("what it holds", lambda x: x.a + x.b * 2, lambda: (_pair(3, 4),)),
    ("both", lambda x: x.a.sum() + x.sum(), lambda: (_pair(3, 4),)),
    ("identity", lambda x: (x.a is x.a, x is x, x.a is x.b, x + 1), lambda: (_pair(3, 4),)),
    ("results in containers", lambda x: {"one": (x + 1, [x * 2])}["one"], lambda: (_pair(3, 4),)),
    ("itself", lambda x: (x, x + 1), lambda: (_pair(3, 4),)),
    ("linear", lambda x, w: torch.nn.functional.linear(x, w), lambda: (torch.ones(2, 4), _scaled())),
    ("context", lambda w: w * 2 + w.how.scale, lambda: (_scaled(),)),
    ("plain", lambda w: w.plain() + 1, lambda: (_scaled(),)),
    ("within another", lambda x: (x * 2).sum(1), lambda: (Pair(_pair(3, 4), _pair(3, 4)),)),
    ("of one tensor", lambda x, y: x * y, lambda: ((lambda t: (Pair(t, t), t))(torch.ones(3, 4)))),
    ("slots", lambda x: (x * 2 + x.a).sum(0), lambda: (Slotted(torch.ones(3, 4), torch.zeros(3, 4)),)),
    ("no gradient", lambda x: (torch.no_grad()(lambda: x * 2))(), lambda: (_pair(3, 4, gradient=True),)),
    ("gradient", lambda x: (x * x).sum(1), lambda: (_pair(3, 4, gradient=True),)),
    ("computed", lambda x: (x * x).sum(1), lambda: (_pair(3, 4, gradient=True) * 3,)),
    ("dropout", lambda x: torch.nn.functional.dropout(x, 0.5), lambda: (_pair(3, 4),)),
    ("torch functions", lambda x: torch.sin(x) + torch.stack([x, x]).sum(0), lambda: (Loud(torch.ones(3, 4), torch.zeros(3, 4)),)),
]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(("program", "inputs"), [one[1:] for one in _PROGRAMS], ids=[one[0] for one in _PROGRAMS])
def test_one_graph(program: Callable[..., Any], inputs: Callable[[], tuple[Any, ...]], backend: str) -> None:
    """As eager, twice by one entry, with all that a class says of its results."""
    captured = minidynamo.compile(program, backend=backend, fullgraph=True)
    for seed in range(2):
        torch.manual_seed(seed)
        expected = program(*inputs())
        torch.manual_seed(seed)
        actual = captured(*inputs())
        assert _plain(actual) == _plain(expected)
    assert len(minidynamo.debug.cache_entries(captured)) == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("is_leaf", [True, False])
def test_gradients(backend: str, is_leaf: bool) -> None:
    def run(f: Callable[..., Any]) -> Any:
        x = _pair(3, 4, gradient=True)
        f(x if is_leaf else x * 2).sum().backward()
        return x.grad

    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) @ x.t()

    assert _plain(run(minidynamo.compile(f, backend=backend, fullgraph=True))) == _plain(run(f))


def test_of_torch() -> None:
    from torch.testing._internal.two_tensor import TwoTensor

    x = torch.arange(4.0)
    for backend in ("eager", "aot_eager"):
        captured = minidynamo.compile(lambda t, x: (t + 1, x * 2), backend=backend, fullgraph=True)
        for _ in range(2):
            two, doubled = captured(TwoTensor(x, x * 3), x)
            assert torch.equal(two.a, x + 1) and torch.equal(two.b, x * 3 + 1) and torch.equal(doubled, x * 2)


def test_parameters() -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(_pair(5, 4))
            self.scaled = torch.nn.Parameter(Scaled(torch.arange(20).view(5, 4), Format(0.25, "int")), requires_grad=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.linear(x, self.weight) + torch.nn.functional.linear(x, self.scaled)

    model = Layer()
    captured = minidynamo.compile(model, backend="eager", fullgraph=True)
    x = torch.ones(2, 4)
    model(x).sum().backward()
    expected, model.weight.grad = model.weight.grad, None
    assert _plain(captured(x)) == _plain(model(x))
    captured(x).sum().backward()
    assert _plain(model.weight.grad) == _plain(expected)


def test_compiled_by_inductor() -> None:
    def f(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.linear(torch.relu(x), w) * 2

    x, w = _pair(3, 4), _scaled()
    actual, expected = minidynamo.compile(f, fullgraph=True)(x, w), f(x, w)
    assert type(actual) is Pair
    torch.testing.assert_close(actual.a, expected.a)
    torch.testing.assert_close(actual.b, expected.b)


def test_guards() -> None:
    """The parts of a wrapper are part of what is captured: tensors by their metadata, all else by what it is."""

    def f(w: torch.Tensor) -> torch.Tensor:
        return w * 2

    captured = minidynamo.compile(f, backend="eager", fullgraph=True)

    def entries(w: torch.Tensor) -> int:
        assert _plain(captured(w)) == _plain(f(w))
        return len(minidynamo.debug.cache_entries(captured))

    numbers = torch.arange(12).view(3, 4)
    assert entries(Scaled(numbers, Format(0.5, "int"))) == 1
    assert entries(Scaled(numbers + 1, Format(0.5, "int"))) == 1
    assert entries(Scaled(numbers, Format(0.25, "int"))) == 2
    assert entries(Scaled(numbers.to(torch.int16), Format(0.5, "int"))) == 3
    assert entries(Scaled(numbers.t().contiguous().t(), Format(0.5, "int"))) == 4
    assert entries(Scaled(numbers.view(4, 3), Format(0.5, "int"))) == 5
    changed = Scaled(numbers, Format(0.5, "int"))
    changed.note = "more"
    assert entries(changed) == 6
    assert entries(Scaled(numbers, Format(0.5, "int"))) == 6


def test_replaced_class_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    def f(w: torch.Tensor) -> torch.Tensor:
        return w * 2

    w = _scaled()
    captured = minidynamo.compile(f, backend="aot_eager", fullgraph=True)
    assert _plain(captured(w)) == _plain(f(w))
    former = Scaled.__torch_dispatch__
    monkeypatch.setattr(Scaled, "__torch_dispatch__", classmethod(lambda cls, *rest: former(*rest) + 1))
    assert _plain(captured(w)) == _plain(f(w))


@pytest.mark.parametrize("dynamic", [None, True])
def test_other_sizes(dynamic: bool | None) -> None:
    """Each is an entry of its own, and right."""
    captured = minidynamo.compile(lambda x: x.a.sum() + (x * 2 + x.shape[0]).sum(), backend="aot_eager", dynamic=dynamic)
    for size in (3, 4, 5, 6, 4):
        x = _pair(size, 4)
        expected = x.a.sum() + (x * 2 + x.shape[0]).sum()
        assert _plain(captured(x)) == _plain(expected)


def _changed_in_place(x: Any) -> Any:
    y = x + 1
    x.add_(1)
    return y, x * 2


def _part_changed(x: Any) -> Any:
    x.a.add_(1)
    return x * 2


def _made_inside(x: Any) -> Any:
    return Pair(x.a * 2, x.b) + x


def _attribute_set(x: Any) -> Any:
    x.a = x.b
    return x * 2


def _result_asked(x: Any) -> Any:
    y = x * 2
    return y.a + 1


def _result_changed(x: Any) -> Any:
    y = x * 2
    y.add_(1)
    return y


def _broken(x: Any) -> Any:
    y = x * 2
    return y + 1 if y.a.sum() > -1e9 else y


def _swapped(x: Any) -> Any:
    return x.swapped() * 2


@pytest.mark.parametrize("make", [Pair, Slotted])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "program", [_changed_in_place, _part_changed, _made_inside, _attribute_set, _result_asked, _result_changed, _broken, _swapped]
)
def test_in_parts(program: Callable[[Any], Any], backend: str, make: type[Pair]) -> None:
    captured = minidynamo.compile(program, backend=backend)
    for _ in range(2):
        x, y = (make(torch.ones(3, 4), torch.zeros(3, 4)) for _ in range(2))
        assert _plain(captured(x)) == _plain(program(y))
        assert _plain(x) == _plain(y)
    assert not any(one.function == program.__name__ for one in minidynamo.debug.uncaptured())


def test_a_class_that_cannot_be_put_together() -> None:
    """It runs uncaptured, and nothing of it is lost."""

    class Broken(Pair):
        @staticmethod
        def __tensor_unflatten__(inner, context, size, stride):
            raise ValueError("not now")

    x = Broken(torch.ones(3), torch.zeros(3))
    captured = minidynamo.compile(lambda x: x * 2, backend="eager")
    assert _plain(captured(x)) == _plain(x * 2)
