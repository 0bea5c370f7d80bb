"""Tensors that wrap tensors and that captured code makes, by their class or by an operator: what they hold, and where they go."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from test_wrapper_tensors import Format, Loud, Pair, Scaled, Slotted, _plain
from torch.testing._internal.two_tensor import TwoTensor
from torch.utils._pytree import tree_map_only

import minidynamo

# mypy: disable-error-code="no-untyped-call, no-untyped-def, misc, attr-defined"


class Quantized(torch.Tensor):
    """As libraries quantize weights: small numbers and their scales, made by a class method."""

    @staticmethod
    def __new__(cls, numbers, scale, shape, dtype=torch.float32):
        return torch.Tensor._make_wrapper_subclass(cls, shape, dtype=dtype, device=numbers.device)

    def __init__(self, numbers, scale, shape, dtype=torch.float32):
        self.numbers = numbers
        self.scale = scale
        self.block = 4

    def __tensor_flatten__(self):
        return ["numbers", "scale"], [self.shape, self.dtype]

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size=None, stride=None):
        return cls(inner["numbers"], inner["scale"], context[0], context[1])

    @classmethod
    def of(cls, weight):
        scale = weight.abs().amax(1, keepdim=True) / 127
        return cls((weight / scale).round().to(torch.int8), scale, weight.shape, weight.dtype)

    def dequantized(self):
        return self.numbers.to(self.dtype) * self.scale

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is torch.nn.functional.linear:
            return torch.nn.functional.linear(args[0], args[1].dequantized(), *args[2:])
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **kwargs)

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        if func in (torch.ops.aten.detach.default, torch.ops.aten.clone.default):
            return cls(args[0].numbers, args[0].scale, args[0].shape, args[0].dtype)
        plain = tree_map_only(Quantized, Quantized.dequantized, (args, kwargs or {}))
        return func(*plain[0], **plain[1])


def _plain_too(value: Any) -> Any:
    if isinstance(value, Quantized):
        return ["Quantized", value.block, value.dtype, tuple(value.shape), _plain(value.numbers), _plain(value.scale)]
    if isinstance(value, TwoTensor):
        return ["TwoTensor", _plain(value.a), _plain(value.b)]
    if isinstance(value, tuple | list):
        return [_plain_too(one) for one in value]
    return _plain(value)


def _set_apart(x: Any) -> Any:
    """Parts are put on one by one, and taken off."""
    made = Pair(x, x)
    made.b = x * 3
    made.note = "seen"
    del made.note
    return made * 2


def _kept(x: Any) -> Any:
    made = Pair(x, x * 2)
    return made, made.a is x, made is made, made.a + made.b


def _in_a_loop(x: Any) -> Any:
    made = Pair(x, x + 1)
    for k in range(3):
        made = Pair(made.b, made.a * k)
    return made.a, made


def _asked_deep(x: Any) -> Any:
    made = Pair(Pair(x, x + 1), Pair(x, x * 2)) * 2
    return made.a.b + made.b.a


def _with_context(x: Any) -> Any:
    return Scaled(x.to(torch.int64), Format(0.5, "made")) + 1


def _across_a_part(x: Any) -> Any:
    made = Pair(x, x * 2)
    return (made * made.a).b


_PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "alone": lambda x: Pair(x * 2, x + 1),
    "operated on": lambda x: Pair(x * 2, x + 1) * 3,
    "summed": lambda x: Pair(x * 2, x + 1).sum(),
    "a part of the result": lambda x: (Pair(x * 2, x + 1) * 3).a.sum(),
    "of torch": lambda x: TwoTensor(x, x * 2) + 1,
    "with slots": lambda x: Slotted(x, x * 2) + 1,
    "slots asked": lambda x: (Slotted(x, x * 2) + 1).b,
    "with torch functions": lambda x: torch.sin(Loud(x, x * 2)),
    "taken apart": lambda x: [getattr(Pair(x, x * 2), name) + 1 for name in Pair(x, x).__tensor_flatten__()[0]],
    "put together": lambda x: Pair.__tensor_unflatten__({"a": x * 2, "b": x}, None, x.size(), x.stride()) + 1,
    "in containers": lambda x: {"one": [Pair(x, x)], "two": (Pair(x, x + 1) * 2,)}["two"],
    "of one another": lambda x: Pair(Pair(x, x + 1), Pair(x, x)) * 2,
    "quantized": lambda x: Quantized.of(x),
    "quantized and used": lambda x: torch.nn.functional.linear(x, Quantized.of(x)),
    "quantized and added to": lambda x: Quantized.of(x) + 1,
    "set apart": _set_apart,
    "kept": _kept,
    "in a loop": _in_a_loop,
    "asked deep": _asked_deep,
    "with a context": _with_context,
    "across a part": _across_a_part,
    "a list of parts": lambda x: torch.stack([Pair(x, x + 1), Pair(x * 2, x)]).sum(0),
    "method": lambda x: Pair(x, x * 2).swapped().doubled(),
    "property": lambda x: Pair(x, x * 2) * Pair(x, x).rows,
    "metadata": lambda x: Pair(x, x) + x.shape[0] + Pair(x, x).dim() + Pair(x, x).numel(),
    "conditional on its class": lambda x: [one * 2 if isinstance(one, Pair) else one + 1 for one in (Pair(x, x), x)],
    "not used": lambda x: (Pair(x, x), x + 1)[1],
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", _PROGRAMS)
def test_one_graph(name: str, backend: str) -> None:
    program = _PROGRAMS[name]
    captured = minidynamo.compile(program, backend=backend, fullgraph=True)
    for seed in range(3):
        torch.manual_seed(seed)
        x = torch.randn(3, 4)
        assert _plain_too(captured(x.clone())) == _plain_too(program(x.clone()))
    assert len(minidynamo.debug.cache_entries(captured)) == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_with_an_input(backend: str) -> None:
    def program(t: Any, x: torch.Tensor) -> Any:
        product = t * Pair(x, x + 1)
        return product, product.a + t.b, (t * 2).a * x

    captured = minidynamo.compile(program, backend=backend, fullgraph=True)
    for k in range(3):
        t, x = Pair(torch.full((2, 3), float(k)), torch.ones(2, 3)), torch.arange(6.0).view(2, 3)
        assert _plain(captured(t, x)) == _plain(program(t, x))


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients_of_what_parts_are_made_of(backend: str) -> None:
    def program(x: torch.Tensor) -> Any:
        made = Pair(x * 2, x.sin())
        return made.a.sum() + made.b.cos().sum(), made

    def run(f: Callable[..., Any]) -> Any:
        x = torch.arange(3.0).requires_grad_()
        loss, made = f(x)
        (loss + made.b.sum()).backward()
        return x.grad

    assert torch.allclose(run(minidynamo.compile(program, backend=backend, fullgraph=True)), run(program))


def test_parts_that_leave_are_the_very_tensors() -> None:
    x = torch.ones(3)
    made, part = minidynamo.compile(lambda x: (lambda part: (Pair(x, part), part))(x * 2), backend="eager", fullgraph=True)(x)
    assert made.a is x and made.b is part


def test_dispatch_is_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(x: torch.Tensor) -> Any:
        return Pair(x, x + 1) * 2

    captured = minidynamo.compile(program, backend="aot_eager", fullgraph=True)
    x = torch.ones(3)
    assert _plain(captured(x)) == _plain(program(x))
    former = Pair.__torch_dispatch__
    monkeypatch.setattr(Pair, "__torch_dispatch__", classmethod(lambda cls, *rest: former(*rest).swapped()))
    assert _plain(captured(x)) == _plain(program(x))


@dataclasses.dataclass
class Loose:
    scale: float


def _written_part(x: Any) -> Any:
    made = Pair(x * 1, x + 1)
    made.a.add_(1)
    return made * 2, made.a


def _written(x: Any) -> Any:
    made = Pair(x * 1, x + 1)
    made.add_(1)
    return made, made.a


def _written_through_a_part(x: Any) -> Any:
    made = Pair(x, x) * 2
    made.a.add_(1)
    return made * 2


def _changed_after_use(x: Any) -> Any:
    made = Pair(x, x + 1)
    first = made * 2
    made.a = x * 5
    return first, made * 2


def _loose_context(x: Any) -> Any:
    how = Loose(0.5)
    made = Scaled(x.to(torch.int64), how)
    how.scale = 2.0
    return (made + 1).sum()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("program", [_written_part, _written, _written_through_a_part, _changed_after_use, _loose_context])
def test_in_parts(program: Callable[[Any], Any], backend: str) -> None:
    """Not one graph perhaps, and right."""
    captured = minidynamo.compile(program, backend=backend)
    for k in range(2):
        x, y = torch.full((2, 2), 1.0 + k), torch.full((2, 2), 1.0 + k)
        assert _plain(captured(x)) == _plain(program(y))
        assert torch.equal(x, y)
