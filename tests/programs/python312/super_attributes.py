# graphs: 1
"""super() with a method, a property and a class attribute, in methods, class methods and a nested function."""

import torch


class Base(torch.nn.Module):
    kind = "base"

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x):
        return x * self.weight

    @property
    def doubled(self):
        return self.weight * 2

    @classmethod
    def name(cls):
        return f"{cls.__name__} of {cls.kind}"


class Derived(Base):
    kind = "derived"

    def forward(self, x):
        inner = [super(Derived, self).forward(x) for _ in range(2)]
        return super().forward(x) + super().doubled + sum(inner)

    @classmethod
    def name(cls):
        return super().name() + super().kind


def f(model, x):
    return model(x), model.name(), type(model).name()


def inputs():
    return Derived(), torch.arange(3.0)
