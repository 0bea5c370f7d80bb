"""What the public decorators do to types: mypy --strict checks it (test_packaging.py)."""

from typing import assert_type

import torch

import minidynamo


def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


def as_list(x: torch.Tensor) -> list[torch.Tensor]:
    return [x + 1]


def my_compiler(graph_module: torch.fx.GraphModule, example_inputs: list[torch.Tensor]) -> torch.fx.GraphModule:
    return graph_module


@minidynamo.optimize
def bare(x: torch.Tensor) -> tuple[torch.Tensor, int]:
    return x.relu(), 3


@minidynamo.optimize("eager", fullgraph=True)
def with_name(x: torch.Tensor, *, scale: float = 2.0) -> dict[str, torch.Tensor]:
    return {"out": x * scale}


@minidynamo.optimize(my_compiler)
def with_compiler(x: torch.Tensor) -> list[torch.Tensor]:
    return [x.relu()]


@minidynamo.compile(backend="eager")
def compiled(x: torch.Tensor, n: int) -> torch.Tensor:
    return x * n


@minidynamo.disable
def disabled(x: torch.Tensor) -> str:
    return str(x.sum().item())


@minidynamo.disable(reason="reads a file")
def disabled_with_reason(x: torch.Tensor) -> int:
    return len(x)


@minidynamo.allow_in_graph
def in_graph(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@minidynamo.config.patch(recompile_limit=3)
def patched(x: torch.Tensor) -> int:
    return len(x)


class Model(torch.nn.Module):
    extra = 3

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.twice(x) + 1

    @minidynamo.optimize("eager")
    def twice(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


def check(x: torch.Tensor) -> None:
    # Functions: parameters and results are those of the function.
    assert_type(minidynamo.optimize(add)(x, x), torch.Tensor)
    assert_type(minidynamo.optimize("eager")(as_list)(x), list[torch.Tensor])
    assert_type(bare(x), tuple[torch.Tensor, int])
    assert_type(with_name(x, scale=1.0), dict[str, torch.Tensor])
    assert_type(with_compiler(x), list[torch.Tensor])
    assert_type(compiled(x, 3), torch.Tensor)
    assert_type(minidynamo.compile(as_list, backend="eager")(x), list[torch.Tensor])
    assert_type(disabled(x), str)
    assert_type(disabled_with_reason(x), int)
    assert_type(in_graph(x), torch.Tensor)
    assert_type(patched(x), int)
    # Modules and classes stay what they are.
    assert_type(minidynamo.optimize("eager")(Model()).extra, int)
    assert_type(minidynamo.compile(Model(), backend="eager").twice(x), torch.Tensor)
    assert_type(minidynamo.optimize(Model()).extra, int)
    # Reports.
    assert_type(minidynamo.explain(add)(x, x), minidynamo.Explanation)
