# graphs: 1
"""A class statement with all that a body may have: methods, decorators, a loop, annotations, names deleted again."""

import torch

SCALE = 3


class Base:
    def __call__(self, t):
        return t * 2


def f(x):
    k = 2

    class Plain(Base):
        """What it is for."""

        factor = k + SCALE
        label: str = "plain"
        table = {}
        for i in range(3):
            table[i] = i * factor
        squares = [n * n for n in range(3)]
        del i

        def __init__(self, n):
            self.n = n

        def __call__(self, t):
            return super().__call__(t) * self.factor - self.n

        def who(self):
            return __class__.__name__

        @property
        def double(self):
            return self.factor * 2

        @double.setter
        def double(self, value):
            self.factor = value // 2

        @classmethod
        def make(cls, *numbers):
            return cls(sum(numbers))

        @staticmethod
        def identity(value):
            return value

    class Derived(Plain):
        factor = 7

        def __init__(self):
            super().__init__(4)

    plain, derived = Plain.make(1, 2), Derived()
    plain.double = 40
    facts = (
        plain.who(),
        plain.double,
        derived.double,
        Derived.table,
        Plain.squares,
        Plain.identity(5),
        Plain.__doc__,
        Plain.__module__,
        Plain.__qualname__,
        Plain.__annotations__,
        [c.__name__ for c in Derived.__mro__],
        isinstance(derived, Base),
        hasattr(Plain, "i"),
    )
    return plain(x), derived(x), facts


def inputs():
    return (torch.randn(2),)
