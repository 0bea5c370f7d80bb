"""torch.ops.<namespace>.<operator>, named for the first time by captured code."""

from typing import Any

import pytest
import torch
from torch.library import Library

import minidynamo


def test_an_operator_that_nobody_has_named() -> None:
    library = Library("minidynamo_test_names", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")

    def function(x: torch.Tensor) -> Any:
        return torch.ops.minidynamo_test_names.twice(x) + torch.ops.minidynamo_test_names.twice.default(x)

    captured = minidynamo.compile(function, backend="eager", fullgraph=True)
    for scale in (1, 2):
        torch.testing.assert_close(captured(torch.ones(2) * scale), torch.ones(2) * scale * 4)
    assert len(minidynamo.debug.cache_entries(captured)) == 1


@pytest.mark.parametrize("path", ["minidynamo_test_names.no_such", "no_such_namespace.anything"])
def test_one_that_is_not_there(path: str) -> None:
    namespace, name = path.split(".")

    def function(x: torch.Tensor) -> Any:
        try:
            return getattr(getattr(torch.ops, namespace), name)(x)
        except AttributeError as error:
            return x + 1, str(error)

    captured = minidynamo.compile(function, backend="eager")
    for _ in range(2):
        assert captured(torch.ones(2))[1] == function(torch.ones(2))[1]
