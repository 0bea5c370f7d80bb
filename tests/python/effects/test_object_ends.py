"""Objects with a finalizer are made as often as eagerly, and end where they end eagerly, whatever held them last."""

import gc
from collections.abc import Callable
from typing import Any

import pytest
import torch

import minidynamo

EVENTS: list[str] = []


class Ending:
    number = 2

    def __del__(self) -> None:
        EVENTS.append("end")

    def me(self) -> "Ending":
        return self


class Holder:
    held: Any = None


HOLDER = Holder()


def _two(_: Ending) -> int:
    return 2


BODIES = {
    "operand_of_a_call": "x = x * _two(Ending())",
    "attribute_read": "x = x * Ending().number",
    "method_called": "x = x * Ending().me().number",
    "expression_statement": "Ending()",
    "operand_of_isinstance": "x = x + isinstance(Ending(), Ending)",
    "operand_of_is": "x = x if Ending() is None else x + 1",
    "item_popped": "b = [Ending()]; EVENTS.append('mid'); b.pop()",
    "list_cleared": "b = [Ending()]; b.clear()",
    "item_replaced": "b = [Ending()]; b[0] = 1",
    "item_deleted": "b = {1: Ending()}; del b[1]",
    "attribute_replaced": "h = Holder(); h.held = Ending(); h.held = None",
    "global_attribute_replaced": "HOLDER.held = Ending(); HOLDER.held = None",
    "holder_deleted": "h = Holder(); h.held = Ending(); del h",
    "variable_replaced": "a, b = Ending(), 1; a = b",
    "variable_replaced_by_another": "a = Ending(); a = Ending()",
    "variable_of_a_loop": "for a in [Ending(), Ending()]: x = x + 1",
    "variable_lives_on": "a = Ending(); EVENTS.append('mid')",
    "tuple_replaced": "t = (Ending(), 1); t = None",
    "comprehension": "x = x * len([Ending() for _ in range(2)])",
    "argument": "def inner(a):\n    EVENTS.append('in'); return 1\nx = x * inner(Ending())",
    "variable_of_a_call": "def inner():\n    a = Ending(); EVENTS.append('in'); return 1\nx = x * inner()",
    "variable_of_a_call_in_a_call": "def a():\n    def b():\n        c = Ending(); EVENTS.append('in')\n    b(); EVENTS.append('out')\na()",
    "argument_of_an_exception": "try: raise ValueError(Ending())\nexcept ValueError: EVENTS.append('handled')",
    "exception_passes": "def inner():\n    a = Ending(); [].pop()\ntry: inner()\nexcept IndexError: EVENTS.append('handled')",
    "in_a_closure": "a = Ending(); g = lambda: a; EVENTS.append(str(g().number)); del g; del a",
    "named_in_an_expression": "x = x * (a := Ending()).me().number; EVENTS.append('mid'); a = 1",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_ends_where_it_ends_eagerly(body: str) -> None:
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    exec(f"def f(x):\n{lines}\n    EVENTS.append('after')\n    return x + 1", globals(), scope := {})
    f: Callable[..., torch.Tensor] = scope["f"]

    def run(function: Callable[..., torch.Tensor]) -> tuple[list[float], list[str]]:
        EVENTS.clear()
        return function(torch.arange(2.0)).tolist(), list(EVENTS)

    expected = run(f)
    captured = minidynamo.compile(f, backend="eager")
    for _ in range(3):
        assert run(captured) == expected


def test_classes_of_a_metaclass_with_a_finalizer_are_made_as_often() -> None:
    class Ending(type):
        def __del__(cls) -> None:
            EVENTS.append("end")

    class Base(metaclass=Ending):
        scale = 3

    def f(x: torch.Tensor) -> torch.Tensor:
        class Derived(Base):
            pass

        return x * Derived.scale * type("Other", (Derived,), {}).scale

    def ends(function: Callable[..., torch.Tensor]) -> int:
        function(torch.ones(2))
        gc.collect()
        EVENTS.clear()
        function(torch.ones(2))
        gc.collect()
        return len(EVENTS)

    assert ends(f) == ends(minidynamo.compile(f, backend="eager")) == 2


def test_dict_fromkeys_makes_an_object_with_a_finalizer() -> None:
    class Items(dict):
        def __del__(self) -> None:
            EVENTS.append(f"end of {len(self)}")

    def f(x: torch.Tensor) -> torch.Tensor:
        x = x * len(Items.fromkeys("ab"))
        EVENTS.append("after")
        return x

    captured = minidynamo.compile(f, backend="eager")
    for _ in range(3):
        EVENTS.clear()
        assert torch.equal(captured(torch.ones(2)), torch.ones(2) * 2)
        assert EVENTS == ["end of 2", "after"]


def test_it_is_said_why() -> None:
    def f(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        a = Ending()
        return y * a.number

    minidynamo.compile(f, backend="eager")(torch.ones(2))
    reasons = [record.reason for record in minidynamo.debug.uncaptured()]
    assert "finalizer" in reasons


def test_what_it_calls_is_captured() -> None:
    graphs = []

    def backend(graph_module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        graphs.append(graph_module)
        return graph_module.forward

    def inner(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    def f(x: torch.Tensor) -> torch.Tensor:
        ending = Ending()
        return inner(x) * ending.number

    captured = minidynamo.compile(f, backend=backend)
    for _ in range(2):
        assert torch.equal(captured(torch.ones(2)), f(torch.ones(2)))
    assert len(graphs) == 1


def test_an_object_that_others_hold_does_not_keep_from_capture() -> None:
    graphs = []

    def backend(graph_module: torch.fx.GraphModule, inputs: list[Any]) -> Any:
        graphs.append(graph_module)
        return graph_module.forward

    def f(x: torch.Tensor, ending: Ending) -> torch.Tensor:
        minidynamo.graph_break()
        return x.sin() * ending.number

    ending = Ending()
    captured = minidynamo.compile(f, backend=backend)
    assert torch.equal(captured(torch.ones(2), ending), f(torch.ones(2), ending))
    assert len(graphs) == 1


def _walk() -> Any:
    try:
        yield 1
        yield 2
    finally:
        EVENTS.append("end")


def _raises(holds_generator: bool) -> None:
    held = _walk() if holds_generator else Ending()
    if holds_generator:
        next(held)
    raise ValueError


def _handles(x: torch.Tensor, holds_generator: bool) -> torch.Tensor:
    try:
        _raises(holds_generator)
    except ValueError:
        EVENTS.append("in")
    EVENTS.append("after")
    return x + 1


def _handles_by_name(x: torch.Tensor, holds_generator: bool) -> torch.Tensor:
    try:
        _raises(holds_generator)
    except ValueError as error:
        EVENTS.append(type(error).__name__)
    EVENTS.append("after")
    return x + 1


def _passes_over(x: torch.Tensor, holds_generator: bool) -> torch.Tensor:
    try:  # noqa: SIM105
        _raises(holds_generator)
    except ValueError:
        pass
    EVENTS.append("after")
    x = x * 2
    EVENTS.append("later")
    return x


def _handles_in_a_loop(x: torch.Tensor, holds_generator: bool) -> torch.Tensor:
    for k in range(3):
        try:
            _raises(holds_generator)
        except ValueError:
            x = x + k
        EVENTS.append(str(k))
    return x


@pytest.mark.parametrize("function", [_handles, _handles_by_name, _passes_over, _handles_in_a_loop], ids=lambda f: f.__name__)
@pytest.mark.parametrize("holds_generator", [False, True], ids=["object", "generator"])
def test_what_a_traceback_keeps_ends_with_the_except_clause(
    function: Callable[[torch.Tensor, bool], torch.Tensor], holds_generator: bool
) -> None:
    captured = minidynamo.optimize("eager")(function)
    seen = []
    for called in (function, captured, captured):
        EVENTS.clear()
        result = called(torch.ones(2), holds_generator)
        seen.append((list(EVENTS), result.tolist()))
    assert seen[1] == seen[2] == seen[0]
    assert "end" in seen[0][0]


def test_what_is_replaced_ends_at_its_place() -> None:
    items: dict[str, Any] = {}
    holder = Holder()

    def replaces(x: torch.Tensor) -> torch.Tensor:
        holder.held = None
        EVENTS.append("attribute")
        items["held"] = None
        EVENTS.append("item")
        return x + 1

    captured = minidynamo.optimize("eager")(replaces)
    seen = []
    for called in (replaces, captured, captured):
        holder.held, items["held"] = Ending(), Ending()
        EVENTS.clear()
        called(torch.ones(2))
        seen.append(list(EVENTS))
    assert seen[1] == seen[2] == seen[0] == ["end", "attribute", "end", "item"]
