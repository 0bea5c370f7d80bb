"""A part of numpy_sweep.py: captured calls of NumPy's have the values, dtypes, classes, strides and flags that plain ones have."""

from typing import Any

import numpy as np
import numpy_sweep
import pytest

import minidynamo
from minidynamo import debug

KINDS = [("float32", "transposed"), ("float64", "matrix"), ("int64", "transposed"), ("uint16", "matrix"), ("complex64", "zero")]


@pytest.mark.parametrize("dtype,layout", KINDS)
def test_forms_of_calls(dtype: str, layout: str) -> None:
    texts = numpy_sweep.OPERATORS[KINDS.index((dtype, layout)) % 2 :: 2]
    differing = {text: how for text in texts if (how := numpy_sweep.check(text, dtype, layout))}
    assert not differing


OUT = ["np.add(x, y, out=np.zeros_like(x))", "np.sin(x, out=np.zeros(x.shape))", "np.floor(x, out=np.zeros_like(x))", "np.fix(x, y)"]
LAYOUT = ["np.add(x.T, y.T)", "np.ceil(x, order='F')", "np.argsort(x)", "np.histogramdd(x)", "x.cumsum(axis=0)", "np.where(x, x, y)"]
OTHERS = ["np.fft.ifft(x)", "np.angle(x)", "np.diagonal(x)", "np.imag(x)", "np.remainder(x, 2)", "x % -x", "x ** y"]
WARNINGS = ["np.std(x[:0])", "np.sum(x, dtype=np.float32)", "np.broadcast_arrays(x, 1)", "x.astype(np.float64)"]


@pytest.mark.parametrize("text", [*OUT, *LAYOUT, *OTHERS, *WARNINGS])
def test_kinds_that_differed(text: str) -> None:
    for dtype in ("bool", "int64", "uint32", "float16", "float32", "complex64"):
        for layout in ("matrix", "transposed", "square"):
            assert not numpy_sweep.check(text, dtype, layout), (dtype, layout)


def test_the_calls_are_made_from_the_layer() -> None:
    calls = numpy_sweep.all_calls()
    assert len(calls) > 3000 and "np.fft.ifft(x)" in calls and "np.add(x, y, order='F')" in calls


# --- numpy.errstate


def divided(x: Any) -> Any:
    return np.sqrt(x) / x


def divided_strictly(x: Any) -> Any:
    with np.errstate(invalid="raise"):
        return np.sqrt(x) / x


def test_an_error_raises_where_the_state_says_so() -> None:
    zeros = np.zeros(3, np.float32)
    captured = minidynamo.optimize("eager")(divided)
    with np.errstate(all="ignore"):
        captured(zeros)
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        captured(zeros)
    told: list[str] = []
    with np.errstate(invalid="call", call=lambda kind, _: told.append(kind)):
        captured(zeros)
    assert told
    with pytest.raises(FloatingPointError):
        minidynamo.optimize("eager")(divided_strictly)(zeros)


def test_states_that_raise_nothing_share_an_entry() -> None:
    ones = np.ones(3, np.float32)
    captured = minidynamo.optimize("eager", fullgraph=True)(divided)
    captured(ones)
    for _ in range(2):
        with np.errstate(all="ignore"):
            captured(ones)
    assert len(debug.cache_entries(captured)) == 1
