"""Reads the guards of a ShapeEnv about sizes of a graph's inputs, as conditions on integers and on floats made of them. Imports sympy.

A guard that has no such form (on alternatives, on functions of floats) specializes the sizes that it is about: the compiled code is then
good for these alone, which is true whatever the guard says.
"""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sympy  # type: ignore[import-untyped]
from torch.utils._sympy.numbers import IntInfinity, NegativeIntInfinity

if TYPE_CHECKING:
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    from minidynamo._capture.conditions import Condition, Float, Number

_BINARY = {"FloorDiv": "//", "CleanDiv": "//", "Mod": "%", "PythonMod": "%"}
_FOLDED = {"Add": "+", "Mul": "*", "Max": "max", "Min": "min"}
_ROUNDED = {"FloorToInt": "floor", "CeilToInt": "ceil", "TruncToInt": "trunc", "RoundToInt": "round"}
# Operators between two floats. A sum or product of more has lost the order in which they are rounded.
_FLOAT_BINARY = {"Add": "+.", "Mul": "*.", "FloatTrueDiv": "/.", "FloatPow": "**."}
_RELATIONS = {
    "Equality": ("==", False),
    "Unequality": ("!=", False),
    "StrictLessThan": ("<", False),
    "LessThan": ("<=", False),
    "StrictGreaterThan": ("<", True),
    "GreaterThan": ("<=", True),
}


class _NoSuchForm(Exception):
    pass


def conditions(env: "ShapeEnv", symbols: "Mapping[Any, tuple[Any, ...]]", values: Mapping[Any, int]) -> "list[Condition]":
    """The guards of a ShapeEnv, and the ranges of its symbols.

    Args:
        env: where the guards are.
        symbols: sympy's symbols, and which number of the inputs each is.
        values: what each is at this call.
    """
    result: list[Condition] = []
    for guard in env.guards:
        try:
            result += _of_guard(guard.expr, symbols)
        except _NoSuchForm:
            result += [("==", symbols[s], values[s]) for s in guard.expr.free_symbols if s in symbols]
    for symbol, of_inputs in symbols.items():
        bounds = env.bound_sympy(symbol)
        if isinstance(bounds.lower, sympy.Integer):
            result.append(("<=", int(bounds.lower), of_inputs))
        if isinstance(bounds.upper, sympy.Integer):
            result.append(("<=", of_inputs, int(bounds.upper)))
        replaced = env.replacements.get(symbol)
        if replaced is not None:
            try:
                result.append(("==", of_inputs, _number(replaced, symbols)))
            except _NoSuchForm:
                result.append(("==", of_inputs, values[symbol]))
    return [c for c in result if not (isinstance(c[1], int) and isinstance(c[2], int))]


def number(expression: Any, symbols: "Mapping[Any, tuple[Any, ...]]") -> "Number | None":
    """An integer expression of sympy's about these symbols; None if there is no such form of it."""
    try:
        return _number(expression, symbols)
    except _NoSuchForm:
        return None


def _of_guard(expression: Any, symbols: "Mapping[Any, tuple[Any, ...]]") -> "list[Condition]":
    if expression in (sympy.true, True):
        return []
    if isinstance(expression, sympy.And):
        return [condition for part in expression.args for condition in _of_guard(part, symbols)]
    if isinstance(expression, sympy.Not) and isinstance(expression.args[0], sympy.core.relational.Relational):
        return _of_guard(expression.args[0].negated, symbols)
    found = _RELATIONS.get(type(expression).__name__)
    if found is None:
        raise _NoSuchForm
    relation, is_turned = found
    left: Number | Float
    right: Number | Float
    try:
        left, right = (_number(side, symbols) for side in expression.args)
    except _NoSuchForm:
        left, right = (_float(side, symbols) for side in expression.args)
    return [(relation, right, left) if is_turned else (relation, left, right)]


def _number(expression: Any, symbols: "Mapping[Any, tuple[Any, ...]]") -> "Number":
    if expression in symbols:
        return symbols[expression]
    if isinstance(expression, (sympy.Integer, int)):
        return int(expression)
    if isinstance(expression, (IntInfinity, NegativeIntInfinity)):
        raise _NoSuchForm
    name = type(expression).__name__
    if name in _FOLDED:
        numbers = [_number(part, symbols) for part in expression.args]
        return functools.reduce(lambda a, b: (_FOLDED[name], a, b), numbers)
    if name in _BINARY:
        left, right = (_number(part, symbols) for part in expression.args)
        return (_BINARY[name], left, right)
    if name in _ROUNDED:
        return (_ROUNDED[name], _float(expression.args[0], symbols))
    if name in ("Pow", "PowByNatural") and isinstance(expression.args[1], sympy.Integer) and 0 < expression.args[1] <= 8:
        base = _number(expression.args[0], symbols)
        return functools.reduce(lambda a, b: ("*", a, b), [base] * int(expression.args[1]))
    raise _NoSuchForm


def _float(expression: Any, symbols: "Mapping[Any, tuple[Any, ...]]") -> "Float":
    if isinstance(expression, (sympy.Float, sympy.Integer, float, int)):
        return float(expression)
    name = type(expression).__name__
    if name == "ToFloat":
        return ("float", _number(expression.args[0], symbols))
    if name == "IntTrueDiv":
        left, right = (("float", _number(part, symbols)) for part in expression.args)
        return ("/.", left, right)
    if name == "OpaqueUnaryFn_sqrt":
        return ("sqrt", _float(expression.args[0], symbols))
    if name in _FLOAT_BINARY and len(expression.args) == 2:
        first, second = (_float(part, symbols) for part in expression.args)
        return (_FLOAT_BINARY[name], first, second)
    raise _NoSuchForm
