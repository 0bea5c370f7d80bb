"""Conditions on the numbers of a graph's inputs, as data that marshal can write: sizes, strides, ints, and what is computed of them."""

import math
import operator
from collections.abc import Callable, Sequence
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
    "*.": operator.mul,
    "/.": operator.truediv,
    "**.": operator.pow,
}


def hold(conditions: Sequence[Condition], inputs: Sequence[Any]) -> bool:
    """True if all conditions hold for these inputs. One that cannot be computed for them (a division by zero) does not."""
    try:
        return all(_RELATIONS[relation](_value(left, inputs), _value(right, inputs)) for relation, left, right in conditions)
    except ArithmeticError:
        return False


def _value(number: Number | Float, inputs: Sequence[Any]) -> Any:
    if not isinstance(number, tuple):
        return number
    kind, *of = number
    if kind == "int":
        return inputs[of[0]]
    if kind in ("size", "stride"):
        return getattr(inputs[of[0]], kind)(of[1])
    return _FUNCTIONS[kind](*(_value(operand, inputs) for operand in of))
