"""Programs become what tests/golden says (golden.py writes it, people read it)."""

import sys

import golden
import pytest


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the pages list instructions of CPython 3.11")
@pytest.mark.parametrize("name", golden.names())
def test_golden(name: str) -> None:
    expected = (golden.GOLDEN / f"{name}.txt").read_text()
    assert golden.text_of(name) == expected, f"after reading the difference: python tests/python/oracles/golden.py --add {name}"


def test_enough() -> None:
    assert len(golden.names()) >= 60
