"""A part of float_sweep.py: operators and lists, where torch rounds a Python float in more than one way."""

import float_sweep
import pytest
import torch

VALUES = (0.1, 0.3, 2.7, 70000.5, 1e300, 0.0, float("inf"), float("nan"))
TEXTS = [*float_sweep.OPERATORS, *float_sweep.LISTS]


@pytest.mark.parametrize("text", TEXTS)
def test_the_bits_are_those_of_eager(text: str) -> None:
    for dtype in (torch.bfloat16, torch.float32, torch.int64):
        assert not float_sweep.check(text, dtype, (3, 4), values=VALUES), dtype
    assert not float_sweep.check(text, torch.float16, (), values=VALUES)


def test_the_calls_are_made_from_torchs_schemas() -> None:
    calls = float_sweep.schema_calls()
    assert len(calls) > 500 and "x.clone().add_(x, alpha=v)" in calls
