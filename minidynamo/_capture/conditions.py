"""Conditions on the numbers of a graph's inputs, as data that marshal can write: sizes, strides, ints, and what is computed of them."""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Number = int | tuple[Any, ...]
"""An int, ("size", input, dimension), ("stride", input, dimension), ("int", input), an operator with two numbers, or a rounding of a
float."""

Float = float | tuple[Any, ...]
"""A float, ("float", number), ("sqrt", float), or an operator with two floats ("/.")."""

Condition = tuple[str, Number | Float, Number | Float]
"""The relation ("==", "!=", "<" or "<=") of two numbers or two floats, which has to hold."""

_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}
_FUNCTIONS: dict[str, Callable[..., int | float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "max": max,
    "min": min,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": round,
    "float": float,
    "sqrt": math.sqrt,
    "+.": operator.add,
    "-.": operator.sub,
    "*.": operator.mul,
    "/.": operator.truediv,
    "**.": operator.pow,
}

_OF_SYMBOLS = frozenset("+-*%") | {"//"}


def hold(conditions: Sequence[Condition], inputs: Sequence[Any]) -> bool:
    """True if all conditions hold for these inputs. One that cannot be computed for them (a division by zero) does not."""
    try:
        return all(_RELATIONS[relation](_value(left, inputs), _value(right, inputs)) for relation, left, right in conditions)
    except ArithmeticError:
        return False


Layout = tuple[tuple[Number, ...], tuple[Number, ...]] | Number
"""Sizes and strides of a tensor with dynamic sizes, or an int, as they follow from the inputs of a graph."""


def layout_of(layout: Layout, inputs: Sequence[Any]) -> Any:
    """A layout's numbers for these inputs: two tuples of ints, or an int."""
    if isinstance(layout, tuple) and isinstance(layout[0], tuple):
        return tuple(tuple(_value(number, inputs) for number in numbers) for numbers in layout)
    return _value(layout, inputs)


def in_terms_of(layouts: Sequence[Any], condition: Condition) -> Condition:
    """A condition on inputs that have these layouts, as one on the inputs that the layouts follow from."""
    relation, left, right = condition
    return relation, _substituted(left, layouts), _substituted(right, layouts)


def computed(number: Number, known: Mapping[Any, Any]) -> Any:
    """A number of what other numbers are, symbolic ints too; None if one of them is not known, or for an operator of floats."""
    if not isinstance(number, tuple) or number in known:
        return known.get(number, number)
    kind, *of = number
    operands = [computed(operand, known) for operand in of] if kind in _OF_SYMBOLS else [None]
    return None if None in operands else _FUNCTIONS[kind](*operands)


def _substituted(number: Any, layouts: Sequence[Any]) -> Any:
    if not isinstance(number, tuple):
        return number
    kind, *of = number
    if kind == "int":
        return layouts[of[0]]
    if kind == "size":
        return layouts[of[0]][0][of[1]]
    return kind, *(_substituted(operand, layouts) for operand in of)


def _value(number: Any, inputs: Sequence[Any]) -> Any:
    if not isinstance(number, tuple):
        return number
    kind, *of = number
    if kind == "int":
        return inputs[of[0]]
    if kind in ("size", "stride"):
        return getattr(inputs[of[0]], kind)(of[1])
    return _FUNCTIONS[kind](*(_value(operand, inputs) for operand in of))
