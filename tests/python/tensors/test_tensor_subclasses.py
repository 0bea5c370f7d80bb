"""Tensors of classes with a __torch_function__: what comes in, is made inside and goes out keeps its class, and what the program has
overridden is traced.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode

import minidynamo

CALLS = {"count": 0}


class Named(torch.Tensor):
    """Nothing of its own but attributes, methods and properties."""

    unit = "m"
    made = 0
    tag: str

    @property
    def half(self) -> torch.Tensor:
        return self / 2

    @property
    def label(self) -> str:
        return getattr(self, "tag", "none")

    @label.setter
    def label(self, value: str) -> None:
        self.tag = value.upper()

    def scaled(self, factor: float) -> torch.Tensor:
        return self * factor

    @classmethod
    def of(cls, x: torch.Tensor) -> "Named":
        return x.as_subclass(cls)

    @staticmethod
    def name() -> str:
        return "named"


class Further(Named):
    unit = "km"

    def scaled(self, factor: float) -> torch.Tensor:
        return super().scaled(factor) + 1


class Swapped(torch.Tensor):
    """Multiplies where one adds, and counts."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        CALLS["count"] += 1
        if function in (torch.add, torch.Tensor.add):
            function = torch.mul
        return super().__torch_function__(function, types, args, kwargs or {})


class Unwrapping(torch.Tensor):
    """A class whose operations return plain tensors, with attributes that it hands on."""

    def __new__(cls, x: torch.Tensor, scale: float = 1.0) -> "Unwrapping":
        return torch.Tensor._make_subclass(cls, x)

    def __init__(self, x: torch.Tensor, scale: float = 1.0) -> None:
        self.scale = scale

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            result = function(*args, **(kwargs or {}))
        scales = [arg.scale for arg in args if isinstance(arg, Unwrapping)]
        if isinstance(result, torch.Tensor) and function is not torch.Tensor.detach and scales:
            return result.as_subclass(torch.Tensor) * scales[0]
        return result


class Willing(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        CALLS["count"] += 100
        if not all(issubclass(kind, (Willing, torch.Tensor)) for kind in types):
            return NotImplemented
        return super().__torch_function__(function, (cls,), args, kwargs or {})


class Plain(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl

    def twice(self) -> torch.Tensor:
        return self * 2


class Weight(torch.nn.Parameter):
    @property
    def norm_of(self) -> torch.Tensor:
        return self.norm()


class Told(torch.nn.Parameter):
    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        CALLS["count"] += 1
        return torch.Tensor.__torch_function__.__func__(torch.Tensor, function, (torch.Tensor,), args, kwargs or {})


class Special(torch.Tensor):
    """Special methods of its own."""

    def __len__(self) -> int:
        return 7

    def __add__(self, other: Any) -> Any:
        return super().__add__(other) * 10

    def __radd__(self, other: Any) -> Any:
        return ("reflected", other)

    def __sub__(self, other: Any) -> Any:
        CALLS["count"] += 1
        return NotImplemented

    def __getitem__(self, index: Any) -> Any:
        CALLS["count"] += 1
        return ("item", index)

    def __iter__(self) -> Any:
        return iter([1, 2])

    def __bool__(self) -> bool:
        return True

    def __lt__(self, other: Any) -> Any:
        return "less"

    def __contains__(self, item: Any) -> bool:
        return item == 5

    def __neg__(self) -> Any:
        return "negative"


class SpecialPlain(Special):
    __torch_function__ = torch._C._disabled_torch_function_impl


class Marked(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        CALLS["count"] += 10_000
        return function(*args, **(kwargs or {}))


class Column:
    """Stands for a tensor, and is none."""

    def __init__(self, value: torch.Tensor) -> None:
        self.value = value

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        CALLS["count"] += 1
        return function(*[cls.value_of(arg) for arg in args], **(kwargs or {}))

    @classmethod
    def value_of(cls, given: Any) -> Any:
        if isinstance(given, (list, tuple)):
            return [cls.value_of(item) for item in given]
        return given.value if isinstance(given, Column) else given


PROGRAMS: dict[str, tuple[type, Callable[..., Any]]] = {}
WITH_BREAKS: set[str] = set()


def program(kind: Any, breaks: bool = False) -> Any:
    def note(function: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[function.__name__] = (kind, function)
        if breaks:
            WITH_BREAKS.add(function.__name__)
        return function

    return note


@program(Named)
def results_keep_the_class(s: Any, x: Any) -> Any:
    return torch.sin(s) + 1, s + x, x * s, s[0], s.T, torch.cat([s, x]), s.sum(), s == x, s.split(1), torch.nn.functional.relu(s)


@program(Named)
def what_is_asked(s: Any, x: Any) -> Any:
    return s.shape, s.dtype, len(s), s.size(0), s.unit, type(s) is Named, isinstance(s, Named), s.name(), s.requires_grad, s.ndim, s + 1


@program(Named)
def methods_and_properties(s: Any, x: Any) -> Any:
    return s.half, s.scaled(3), Named.of(x).half, s.half.scaled(2), s.label


@program(Further)
def a_subclass_of_a_subclass(s: Any, x: Any) -> Any:
    return s.scaled(2), s.unit, s.half, Named.of(x) + s, s + Named.of(x), type(s + Named.of(x)).__name__


@program(Named)
def attributes(s: Any, x: Any) -> Any:
    before = getattr(s, "tag", None), hasattr(s, "missing")
    s.tag = "new"
    y = s * 2
    y.tag = s.tag + "!"
    return before, y, y.tag, s.label, hasattr(s * 3, "tag")


@program(Named)
def a_property_that_sets(s: Any, x: Any) -> Any:
    s.label = "mine"
    y = s + 1
    y.label = "yours"
    return y, s.label, y.label, s.tag


@program(torch.Tensor)
def made_inside(s: Any, x: Any) -> Any:
    y = x.as_subclass(Named)
    z = Named(x)
    y.tag = "inside"
    return y, z + y, y.half, (y + 1).as_subclass(torch.Tensor), Further.of(x).scaled(2), y.tag


@program(torch.Tensor)
def made_and_used_inside_only(s: Any, x: Any) -> Any:
    return (x.as_subclass(Swapped) + 3).sum().as_subclass(torch.Tensor) + 1


@program(Swapped)
def overridden(s: Any, x: Any) -> Any:
    return torch.add(s, s), s + 2, torch.sin(s), s.cos(), x + s, s.add(x)


@program(Swapped)
def overridden_functions_in_python(s: Any, x: Any) -> Any:
    return torch.nn.functional.softmax(s, -1), torch.einsum("ij,kj->ik", s, x), s.norm(), 1 - s, s.split(1)[0], len(s), [*s][1]


@program(torch.Tensor)
def with_a_constructor(s: Any, x: Any) -> Any:
    y = Unwrapping(x, 3.0)
    return y + 1, type(y + 1).__name__, y.scale, torch.sin(y)


@program(Named)
def two_classes(s: Any, x: Any) -> Any:
    w = x.as_subclass(Willing)
    return torch.add(w, x), w * 2, type(w * x).__name__


@program(Further)
def a_class_and_its_base(s: Any, x: Any) -> Any:
    base = x.as_subclass(Named)
    return base * s, s * base, torch.stack([base, s])


@program(Swapped)
def a_mode_and_a_class(s: Any, x: Any) -> Any:
    with Marked():
        y = s + 1
    return y, s + 1


@program(Swapped)
def disabled(s: Any, x: Any) -> Any:
    with torch._C.DisableTorchFunctionSubclass():
        y = s + 1
    return y, type(y) is torch.Tensor, s + 1


@program(Plain)
def without_a_say(s: Any, x: Any) -> Any:
    return s + 1, s.twice(), type(s + 1) is torch.Tensor, type(s) is Plain


@program(Named)
def in_place(s: Any, x: Any) -> Any:
    y = s * 1
    y += 1
    y.mul_(2)
    y[0] = 7
    return y, x.clone().add_(s), type(y) is Named


@program(Named)
def the_input_itself(s: Any, x: Any) -> Any:
    return s, [s, s.detach()], s.as_subclass(torch.Tensor) + 1, s.data


@program(Named)
def in_containers(s: Any, x: Any) -> Any:
    held = {"a": [s, s * 2], "b": (x,)}
    return held, torch.cat(held["a"]), sum(held["a"])


@program(Column)
def no_tensor(s: Any, x: Any) -> Any:
    return torch.add(s, 1), torch.cat([s, x]), torch.nn.functional.relu(s)


@program(Named)
def asked_by_python(s: Any, x: Any) -> Any:
    return torch.overrides.has_torch_function((s,)), torch.overrides.is_tensor_like(s), torch.is_tensor(s), s * 2


def specials(s: Any, x: Any) -> Any:
    answers = s[0], list(s), 3 if s else 4, s < 1, x > s, 5 in s, 6 in s, -s, [*s], tuple(s), sum(1 for _ in s), len(s)
    return answers, s + 1, s + x, (1 + s)[0], (x + s)[0], s * 2


@program(Special)
def special_methods(s: Any, x: Any) -> Any:
    return specials(s, x)


@program(SpecialPlain)
def special_methods_without_a_say(s: Any, x: Any) -> Any:
    return specials(s, x)


@program(Special, breaks=True)
def a_special_method_without_an_answer(s: Any, x: Any) -> Any:
    try:
        return s - 1
    except TypeError:
        return s * 3


@program(Named, breaks=True)
def across_a_break(s: Any, x: Any) -> Any:
    y = s * 2
    y.tag = "kept"
    minidynamo.graph_break()
    return y + 1, y.tag, s.half, y


@program(Swapped, breaks=True)
def read_values(s: Any, x: Any) -> Any:
    return s + 1 if s.sum() > 0 else s - 1


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        with torch._C.DisableTorchFunction():
            attributes = {name: plain(item) for name, item in value.__dict__.items()}
            return type(value), value.dtype, value.requires_grad, value.detach().as_subclass(torch.Tensor), attributes
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return {key: plain(item) for key, item in value.items()} if isinstance(value, dict) else value


def same(one: Any, other: Any) -> bool:
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    if isinstance(one, torch.Tensor):
        return torch.allclose(one, other)
    return bool(one == other)


def tensors_in(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in tensors_in(item)] if isinstance(value, (list, tuple)) else []


def run(kind: Any, function: Callable[..., Any], data: torch.Tensor, needs_gradient: bool) -> Any:
    CALLS["count"] = 0
    leaf = data.clone().requires_grad_(needs_gradient)
    x = (data.flip(0) * 2).contiguous()
    s = kind(leaf) if kind is Column else leaf * 1 if kind is torch.Tensor else leaf.as_subclass(kind)
    result = function(s, x)
    calls = CALLS["count"]
    with torch._C.DisableTorchFunction():
        differentiable = [tensor.sum() for tensor in tensors_in(result) if tensor.requires_grad]
        if differentiable:
            torch.stack(differentiable).sum().backward()
    return plain([result, leaf.grad, x, calls, s if isinstance(s, torch.Tensor) else None])


DATA = torch.linspace(0.1, 1.3, 9).reshape(3, 3)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program(name: str, backend: str) -> None:
    minidynamo.reset()
    kind, function = PROGRAMS[name]
    captured = minidynamo.compile(function, backend=backend, fullgraph=name not in WITH_BREAKS)
    for needs_gradient in (False, True):
        expected = run(kind, function, DATA, needs_gradient)
        assert same(run(kind, captured, DATA, needs_gradient), expected)
        assert same(run(kind, captured, DATA, needs_gradient), expected)
        assert same(run(kind, captured, DATA * 2, needs_gradient), run(kind, function, DATA * 2, needs_gradient))
    assert minidynamo.stats()["graphs"] > 0


def test_inductor() -> None:
    minidynamo.reset()
    kind, function = PROGRAMS["overridden"]
    captured = minidynamo.compile(function, backend="inductor", fullgraph=True)
    assert same(run(kind, captured, DATA, False), run(kind, function, DATA, False))


def test_the_class_is_guarded() -> None:
    minidynamo.reset()

    def function(s: Any) -> Any:
        return s + 1, type(s).__name__

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for kind in (Named, Swapped, torch.Tensor, Further, Named):
        s = DATA.as_subclass(kind)
        assert same(plain(captured(s)), plain(function(s)))
    assert minidynamo.stats()["captured"] == 4


def test_a_changed_override_is_another_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    minidynamo.reset()
    captured = minidynamo.compile(lambda s: torch.sin(s), backend="eager", fullgraph=True)
    s = DATA.as_subclass(Swapped)
    captured(s)

    def other(cls: Any, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "another answer"

    monkeypatch.setattr(Swapped, "__torch_function__", classmethod(other))
    assert captured(s) == "another answer"


def test_attributes_are_guarded() -> None:
    minidynamo.reset()

    def function(s: Any) -> Any:
        return s * 2 if s.label == "A" else s * 3

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for tag in ("A", "B", "A", "B"):
        s = DATA.clone().as_subclass(Named)
        s.tag = tag
        assert same(plain(captured(s)), plain(function(s)))
    assert minidynamo.stats()["captured"] == 2


def test_two_inputs_that_are_one() -> None:
    minidynamo.reset()

    def function(a: Any, b: Any) -> Any:
        return a + b, a is b

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    one, other = DATA.as_subclass(Named), DATA.clone().as_subclass(Named)
    for a, b in ((one, other), (one, one), (other, one), (other, other)):
        assert same(plain(captured(a, b)), plain(function(a, b)))


def test_an_input_is_written_to() -> None:
    minidynamo.reset()

    def function(s: Any, x: Any) -> Any:
        s.add_(1)
        s[0] = x[0]
        return s * 2

    for backend in ("eager", "aot_eager"):
        captured = minidynamo.compile(function, backend=backend, fullgraph=True)
        for _ in range(2):
            given, expected = (DATA.clone().as_subclass(Named) for _ in range(2))
            assert same(plain(captured(given, DATA)), plain(function(expected, DATA)))
            assert same(plain(given), plain(expected))


def test_a_module_with_parameters_of_a_class() -> None:
    minidynamo.reset()

    class Layer(torch.nn.Module):
        def __init__(self, kind: type) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.weight = kind(torch.randn(3, 3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.linear(x, self.weight).relu() + self.weight.norm()

    for kind in (Weight, Told):
        for backend in ("eager", "aot_eager"):
            outcomes = []
            for is_captured in (False, True, True):
                layer = Layer(kind)
                call = minidynamo.compile(layer, backend=backend, fullgraph=True) if is_captured else layer
                CALLS["count"] = 0
                call(DATA).sum().backward()
                with torch._C.DisableTorchFunction():
                    assert layer.weight.grad is not None
                    outcomes.append((layer.weight.grad.as_subclass(torch.Tensor), CALLS["count"]))
            assert all(torch.allclose(outcomes[0][0], grad) and outcomes[0][1] == calls for grad, calls in outcomes[1:])


def test_jagged_tensors_are_a_reason() -> None:
    nested = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 3)], layout=torch.jagged)
    for backend in ("eager", "aot_eager"):
        minidynamo.reset()
        captured = minidynamo.compile(lambda t, x: (torch.sin(t), x * 2), backend=backend)
        for _ in range(2):
            result, doubled = captured(nested, DATA)
            assert torch.equal(result.values(), nested.values().sin()) and torch.equal(doubled, DATA * 2)
        made = minidynamo.compile(lambda x: torch.nested.nested_tensor([x, x[:2]], layout=torch.jagged).sin().values(), backend=backend)
        assert torch.equal(made(DATA), torch.cat([DATA, DATA[:2]]).sin())


def test_copies_are_the_programs() -> None:
    minidynamo.reset()
    captured = minidynamo.compile(lambda s: copy.copy(s) + 1, backend="eager")
    s = DATA.as_subclass(Named)
    assert same(plain(captured(s)), plain(s + 1))
