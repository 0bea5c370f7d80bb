# graphs: 1
"""Dataclasses: defaults, factories, post-init, frozen, replace, fields, comparison."""

import dataclasses

import torch


@dataclasses.dataclass
class Batch:
    x: torch.Tensor
    size: int = 2
    tags: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        self.norm = self.x.sum()


@dataclasses.dataclass(frozen=True)
class Options:
    scale: float = 2.0
    name: str = "n"


def f(x):
    options = dataclasses.replace(Options(), scale=4.0)
    batch = Batch(x * options.scale, tags=["a"])
    batch.tags.append(options.name)
    return batch, options == Options(4.0), [field.name for field in dataclasses.fields(batch)], dataclasses.is_dataclass(batch)


def inputs():
    return (torch.randn(3),)
