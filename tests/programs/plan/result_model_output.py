# graphs: 1
"""An OrderedDict-like dataclass, as model libraries use for outputs."""

import collections
import dataclasses

import torch


@dataclasses.dataclass
class Output(collections.OrderedDict):
    logits: torch.Tensor = None
    hidden: tuple = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None:
                super().__setitem__(field.name, value)

    def __getitem__(self, key):
        return super().__getitem__(key) if isinstance(key, str) else tuple(self.values())[key]


def f(x):
    output = Output(logits=x + 1, hidden=(x, x * 2))
    return output, output["logits"] + output[1][1], list(output)


def inputs():
    return (torch.randn(2),)
