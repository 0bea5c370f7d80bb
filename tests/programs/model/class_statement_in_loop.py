# graphs: 1
"""Classes in a loop, in a nested function, in a comprehension's function and in a generator."""

import torch


def generate(x):
    for n in range(3):

        class Step:
            size = n

            def apply(self, t):
                return t + self.size

        yield Step().apply(x)


def f(x):
    total = torch.zeros(2)
    kinds = [type(f"Kind{n}", (), {"n": n, "apply": lambda self, t: t * self.n}) for n in range(3)]
    for kind in kinds:
        total = total + kind().apply(x)
    for step in generate(x):
        total = total + step
    return total, [kind.__name__ for kind in kinds]


def inputs():
    return (torch.randn(2),)
