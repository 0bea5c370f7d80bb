"""TorchFunctionModes that a captured function enters: their methods are traced, and hear of what they hear of eagerly."""

import copy
import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.overrides import BaseTorchFunctionMode, TorchFunctionMode, resolve_name

import minidynamo


def name_of(function: Any) -> str:
    return f"{resolve_name(function)} {getattr(function, '__name__', '')}"


class Telling(TorchFunctionMode):
    """Writes down what it is handed."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.heard: list[Any] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        self.heard.append((function, types, len(args), sorted(kwargs or {})))
        return function(*args, **(kwargs or {}))


class Doubling(TorchFunctionMode):
    """Doubles the results of torch.sin."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        return result * 2 if function is torch.sin else result


class Cosine(Doubling):
    """Takes the cosine for the sine, and asks its base."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.sin:
            return torch.cos(*args, **(kwargs or {})) + super().__torch_function__(function, types, args, kwargs)
        return super().__torch_function__(function, types, args, kwargs or {})


class Refusing(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.cos:
            raise ValueError("no cosine")
        return function(*args, **(kwargs or {}))


class Unwilling(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Constant(TorchFunctionMode):
    """Answers what is no tensor."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return "an answer" if function is torch.sin else function(*args, **(kwargs or {}))


class Reentering(TorchFunctionMode):
    """Calls torch with itself active again."""

    def __init__(self) -> None:
        super().__init__()
        self.depth = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.sin and self.depth < 2:
            self.depth += 1
            with self:
                result = torch.sin(torch.mul(args[0], 2))
            self.depth -= 1
            return result
        return function(*args, **(kwargs or {}))


class Rounding(TorchFunctionMode):
    """Counts in a class, a global and a cell."""

    seen = 0

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__()
        self.note = note

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        global HEARD
        HEARD += 1
        self.note(getattr(function, "__name__", "?"))
        return function(*args, **(kwargs or {}))


HEARD = 0
OUTSIDE = Telling()
PROGRAMS: dict[str, Callable[[torch.Tensor], Any]] = {}
WITH_BREAKS: set[str] = set()


def program(function: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    PROGRAMS[function.__name__] = function
    return function


def with_breaks(function: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    WITH_BREAKS.add(function.__name__)
    return program(function)


@program
def operators(x: torch.Tensor) -> Any:
    with Telling() as mode:
        y = -x + 1 - x * 2 / (3 - x) ** 2
        y = (y @ x).detach() // 2 % 3
        y += x
        z = (y < 1) & (x == x) | ~(x > 0)
        y = abs(y)
    return y, z, mode.heard, mode.calls


@program
def items(x: torch.Tensor) -> Any:
    with Telling() as mode:
        y = x[0] + x[:, 1:2][..., None].squeeze() + x[torch.tensor([0, 1, 0])]
        z = x.clone()
        z[0] = 1
        z[1, :2] += 2
        first, *others = z
        for row in z:
            first = first + row
    return y, z, first, others, len(z), mode.heard


@program
def attributes(x: torch.Tensor) -> Any:
    with Telling() as mode:
        facts = x.shape[0], x.dtype, x.ndim, x.device.type, x.requires_grad, len(x), x.size(0), x.is_leaf, x.grad
        y = x.T + x.mT + x.real + x.data
    return y, facts, mode.heard


@program
def functions(x: torch.Tensor) -> Any:
    with Telling() as mode:
        y = torch.nn.functional.relu(torch.nn.functional.linear(x, x))
        y = torch.nn.functional.softmax(y, -1) + torch.nn.functional.dropout(y, 0.5, False)
        y = torch.cat([y, torch.stack([x[0], x[1]])], dim=0)
        y = torch.einsum("ij,kj->ik", y, x) + torch.sum(input=x, dim=0)
        y = torch.ops.aten.sin(y) + torch.ops.aten.cos.default(y) + y.norm() + torch.nn.functional.max_pool1d(y, 2).sum()
        z = y.split(2)[0] + torch.split(y, 2)[0]
    return y, z, mode.heard


@program
def factories(x: torch.Tensor) -> Any:
    with Telling() as mode:
        y = torch.zeros(3) + torch.ones_like(x) + torch.arange(3) + torch.full((3,), 2.0) + torch.tensor([1.0, 2, 3])
        z = torch.full_like(x, 4.0) + x.new_zeros(3) + torch.empty(3).fill_(1)
    return y + z, mode.heard


@program
def gradient_modes(x: torch.Tensor) -> Any:
    with Telling() as mode:
        with torch.no_grad():
            y = x * 2
        with torch.enable_grad():
            z = x * 3
    return y + z, y.requires_grad, mode.heard


@program
def other_results(x: torch.Tensor) -> Any:
    with Doubling():
        y = torch.sin(x) + torch.cos(x)
    with Constant():
        z = torch.sin(x)
    return y, z, torch.sin(x)


@program
def a_base_asked_by_super(x: torch.Tensor) -> Any:
    with Cosine():
        return torch.sin(x) + torch.cos(x)


@program
def torchs_own_base(x: torch.Tensor) -> Any:
    with BaseTorchFunctionMode():
        return torch.sin(x) + torch.nn.functional.gelu(x)


@program
def nested(x: torch.Tensor) -> Any:
    with Telling() as outer, Doubling(), Telling() as inner:
        y = torch.sin(x)
        with Telling() as innermost:
            y = y + torch.nn.functional.relu(x)
        y = y.cos()
    return y, outer.heard, inner.heard, innermost.heard


@program
def one_from_outside(x: torch.Tensor) -> Any:
    with OUTSIDE as mode:
        y = torch.sin(x) + 1
    return y, mode is OUTSIDE


@program
def entered_twice(x: torch.Tensor) -> Any:
    mode = Telling()
    with mode, mode:
        y = torch.sin(x)
    with mode:
        y = y + 1
    return y, mode.heard


@program
def reentered_by_itself(x: torch.Tensor) -> Any:
    with Reentering():
        return torch.sin(x)


@program
def raised_and_handled(x: torch.Tensor) -> Any:
    done = []
    try:
        with Telling() as outer, Refusing():
            y = torch.sin(x)
            done.append(1)
            y = torch.cos(y)
            done.append(2)
    except ValueError as error:
        return torch.cos(x), str(error), done, outer.heard
    return y


@program
def raised_within(x: torch.Tensor) -> Any:
    with Refusing():
        try:
            y = x.sin() + torch.cos(x)
        except ValueError:
            y = torch.exp(x)
        return torch.sin(y)


@program
def effects_of_a_mode(x: torch.Tensor) -> Any:
    names: list[str] = []
    with Rounding(names.append):
        y = (x + 1).sin()
    return y, names, HEARD


@program
def disabled(x: torch.Tensor) -> Any:
    with Telling() as mode:
        y = torch.sin(x)
        with torch._C.DisableTorchFunction():
            y = y + 1
        with torch._C.DisableTorchFunctionSubclass():
            y = y * 2
    return y, mode.heard


@program
def the_stack(x: torch.Tensor) -> Any:
    before = torch._C._len_torch_function_stack(), type(torch.overrides._get_current_function_mode())
    with Telling() as outer, Doubling() as inner:
        modes = torch.overrides._get_current_function_mode_stack()
        within = torch._C._is_torch_function_mode_enabled(), torch.overrides.has_torch_function((x,))
        with torch.overrides._pop_mode_temporarily() as popped:
            y = torch.sin(x)
        y = y + torch.sin(x)
    is_known = modes[-2] is outer, modes[-1] is inner, popped is inner, len(modes)
    return y, before, is_known, within, torch._C._len_torch_function_stack()


@program
def a_device(x: torch.Tensor) -> Any:
    with torch.device("meta"):
        y = torch.zeros(3)
        with torch.device("cpu"), Telling() as mode:
            z = torch.zeros(3)
    return x + z, y.device.type, torch.ones(2).device.type, mode.heard


@program
def a_decorator(x: torch.Tensor) -> Any:
    mode = Telling()

    def entered(function: Any) -> Any:
        @functools.wraps(function)
        def inner(*args: Any) -> Any:
            with mode:
                return function(*args)

        return inner

    @entered
    def compute(y: torch.Tensor) -> torch.Tensor:
        return y.sin() + 1

    return compute(x) + compute(x), mode.calls


@program
def modules(x: torch.Tensor) -> Any:
    with Telling() as mode:
        y = LAYERS(x)
    return y, mode.heard


LAYERS = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.LayerNorm(3))


@program
def transforms(x: torch.Tensor) -> Any:
    with Telling() as mode:
        y = torch.vmap(lambda row: row.sin() * 2)(x)
        z = torch.func.grad(lambda value: (value * value).sum())(x)
    return y, z, mode.calls


@with_breaks
def a_break_within(x: torch.Tensor) -> Any:
    with Telling() as mode, Doubling():
        y = torch.sin(x)
        minidynamo.graph_break()
        y = torch.sin(y) + 1
    return torch.sin(y), mode.heard, mode.calls


@with_breaks
def a_break_in_the_method(x: torch.Tensor) -> Any:
    class Breaking(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            minidynamo.graph_break()
            return function(*args, **(kwargs or {}))

    with Telling() as mode, Breaking():
        y = torch.sin(x) + 1
    return y, mode.heard


@with_breaks
def branches(x: torch.Tensor) -> Any:
    with Telling() as mode:
        y = x + 1 if x.sum() > 0 else x - 1
    return y, mode.heard


@with_breaks
def nobody_answers(x: torch.Tensor) -> Any:
    try:
        with Unwilling():
            torch.sin(x)
    except TypeError as error:
        return x + 1, str(error).startswith("Multiple dispatch failed")
    return None


@with_breaks
def compared_by_c_code(x: torch.Tensor) -> Any:
    with Telling() as mode:
        y = max(x.sum(), x.mean())
    return y, mode.heard


def plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return (type(value), value.dtype, value.requires_grad, value.detach().cpu() if value.device.type != "meta" else 0)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, tuple):
        return all(map(same, one, other))
    if isinstance(one, torch.Tensor):
        return torch.allclose(one, other)
    return bool(one == other)


def run(function: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Any:
    global HEARD
    HEARD = 0
    OUTSIDE.calls, OUTSIDE.heard = 0, []
    x = copy.deepcopy(x)
    result = function(x)
    tensors = [part for part in (result if isinstance(result, tuple) else (result,)) if isinstance(part, torch.Tensor)]
    differentiable = [tensor.sum() for tensor in tensors if tensor.requires_grad]
    if differentiable:
        torch.stack(differentiable).sum().backward()
    assert torch._C._len_torch_function_stack() == 0
    return plain([*(result if isinstance(result, tuple) else (result,)), x.grad, OUTSIDE.calls, OUTSIDE.heard, HEARD])


INPUTS = [torch.linspace(0.1, 1.3, 9).reshape(3, 3), torch.linspace(-0.5, 2, 9).reshape(3, 3).requires_grad_()]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mode_within(name: str, backend: str) -> None:
    minidynamo.reset()
    function = PROGRAMS[name]
    captured = minidynamo.compile(function, backend=backend, fullgraph=name not in WITH_BREAKS)
    for x in INPUTS:
        expected = run(function, x)
        assert same(run(captured, x), expected)
        assert same(run(captured, x), expected)
    other = INPUTS[1].detach() * 3
    assert same(run(captured, other), run(function, other))
    assert minidynamo.stats()["graphs"] > 0 or name == "nobody_answers"


def test_inductor() -> None:
    minidynamo.reset()
    captured = minidynamo.compile(nested, backend="inductor", fullgraph=True)
    assert same(run(captured, INPUTS[0]), run(nested, INPUTS[0]))


def test_a_mode_of_another_class_is_another_entry() -> None:
    minidynamo.reset()

    def function(x: torch.Tensor, mode: TorchFunctionMode) -> torch.Tensor:
        with mode:
            return torch.sin(x)

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    x = torch.ones(2)
    for mode in (Doubling(), Cosine(), Doubling(), BaseTorchFunctionMode()):
        assert torch.equal(captured(x, mode), function(x, mode))
    assert minidynamo.stats()["captured"] == 3


def test_a_changed_method_is_another_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    minidynamo.reset()

    def function(x: torch.Tensor) -> torch.Tensor:
        with Doubling():
            return torch.sin(x)

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    x = torch.ones(2)
    assert torch.equal(captured(x), x.sin() * 2)
    monkeypatch.setattr(Doubling, "__torch_function__", lambda self, function, types, args=(), kwargs=None: function(*args) * 5)
    assert torch.equal(captured(x), x.sin() * 5)


def test_a_mode_that_stays_entered() -> None:
    minidynamo.reset()

    def function(x: torch.Tensor) -> tuple[torch.Tensor, Telling]:
        mode = Telling()
        mode.__enter__()
        return torch.sin(x), mode

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        result, mode = captured(torch.ones(2))
        assert torch._C._len_torch_function_stack() == 1
        mode.__exit__(None, None, None)
        assert mode.calls == 1 and torch.equal(result, torch.ones(2).sin())


def test_an_exception_that_leaves_the_block() -> None:
    minidynamo.reset()

    def function(x: torch.Tensor) -> torch.Tensor:
        with Telling(), Refusing():
            return torch.sin(x) + torch.cos(x)

    captured = minidynamo.compile(function, backend="eager")
    for _ in range(2):
        with pytest.raises(ValueError, match="no cosine"):
            captured(torch.ones(2))
        assert torch._C._len_torch_function_stack() == 0


def test_a_block_mask_is_one_graph() -> None:
    from torch.nn.attention.flex_attention import create_block_mask

    minidynamo.reset()

    def causal(batch: Any, head: Any, query: Any, key: Any) -> Any:
        return query >= key

    def function(x: torch.Tensor) -> Any:
        one = create_block_mask(causal, 1, 1, 256, 256, device="cpu")
        return one.kv_num_blocks + x, one.to_dense(), one.kv_indices, one.full_kv_num_blocks

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for _ in range(2):
        for result, expected in zip(captured(torch.ones(1)), function(torch.ones(1)), strict=True):
            assert torch.equal(result, expected)


# --- modes that are active around the call


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_mode_around(name: str, backend: str) -> None:
    minidynamo.reset()
    function = PROGRAMS[name]
    captured = minidynamo.compile(function, backend=backend, fullgraph=name not in WITH_BREAKS)

    def around(call: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Any:
        with Telling() as outer, Doubling(), Telling() as inner:
            return run_within(call, x), plain(outer.heard), plain(inner.heard), outer.calls

    for x in (INPUTS[1], INPUTS[1], INPUTS[1].detach() * 3):
        assert same(around(captured, x), around(function, x))
    assert minidynamo.stats()["graphs"] > 0 or name == "nobody_answers"


def run_within(function: Callable[[torch.Tensor], Any], x: torch.Tensor) -> Any:
    """As run(), but nothing else is called where the modes hear of it."""
    global HEARD
    HEARD = 0
    OUTSIDE.calls, OUTSIDE.heard = 0, []
    result = function(x)
    with torch._C.DisableTorchFunction():
        return plain([*(result if isinstance(result, tuple) else (result,)), OUTSIDE.calls, OUTSIDE.heard, HEARD])


def test_entries_are_for_classes_of_modes() -> None:
    minidynamo.reset()

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) + 1

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    x = torch.ones(2)
    stacks: list[list[type[TorchFunctionMode]]] = [[], [Doubling], [Cosine], [Doubling, Telling], [Telling, Doubling]]
    for _ in range(3):
        for stack in stacks:
            outcomes = []
            for call in (function, captured):
                modes = [kind() for kind in stack]
                for mode in modes:
                    mode.__enter__()
                try:
                    outcomes.append((call(x), [getattr(mode, "calls", 0) for mode in modes]))
                finally:
                    for mode in reversed(modes):
                        mode.__exit__(None, None, None)
            assert torch.equal(outcomes[0][0], outcomes[1][0]) and outcomes[0][1] == outcomes[1][1]
    assert minidynamo.stats()["captured"] == len(stacks)


class Scaling(TorchFunctionMode):
    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        return result * self.scale if function is torch.sin else result


def test_what_a_mode_around_holds_is_guarded() -> None:
    minidynamo.reset()

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x)

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    x = torch.ones(2)
    for scale in (2, 3, 2, 3):
        with Scaling(scale) as mode:
            assert torch.equal(captured(x), function(x)) and mode.scale == scale
    assert minidynamo.stats()["captured"] == 2


def test_the_function_changes_the_mode_around_it() -> None:
    minidynamo.reset()

    def function(x: torch.Tensor, mode: Scaling) -> torch.Tensor:
        y = torch.sin(x)
        mode.scale += 1
        return y + torch.sin(x)

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    x = torch.ones(2)
    for scale in (2, 2, 5):
        with Scaling(scale) as one:
            expected = function(x, one)
        with Scaling(scale) as other:
            assert torch.equal(captured(x, other), expected)
        assert other.scale == one.scale == scale + 1


def test_the_function_leaves_the_mode_around_it() -> None:
    minidynamo.reset()

    def function(x: torch.Tensor) -> torch.Tensor:
        with torch.overrides._pop_mode_temporarily():
            y = torch.sin(x)
        torch.overrides._pop_mode()
        return y + torch.sin(x)

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    x = torch.ones(2)
    for call in (function, captured, captured):
        outer, inner = Telling(), Doubling()
        outer.__enter__()
        inner.__enter__()
        result = call(x)
        assert torch._C._len_torch_function_stack() == 1
        outer.__exit__(None, None, None)
        assert outer.calls == 3 and torch.equal(result, x.sin() * 2)


def test_an_error_in_the_graph_leaves_the_modes() -> None:
    minidynamo.reset()

    def function(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return torch.sin(x).index_select(0, index)

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    x = torch.ones(3)
    with Telling() as mode:
        assert torch.equal(captured(x, torch.tensor([1])), x.sin()[1:2])
        calls = mode.calls
        with pytest.raises(IndexError):
            captured(x, torch.tensor([7]))
        assert torch._C._len_torch_function_stack() == 1 and mode.calls > calls
    assert torch._C._len_torch_function_stack() == 0


def test_a_dispatch_mode_around_is_said() -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    class Dispatching(TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return function(*args, **(kwargs or {}))

    minidynamo.reset()
    captured = minidynamo.compile(torch.nn.functional.relu, backend="eager")
    with Dispatching():
        assert torch.equal(captured(torch.ones(2)), torch.ones(2))
    assert minidynamo.stats()["captured"] == 0
