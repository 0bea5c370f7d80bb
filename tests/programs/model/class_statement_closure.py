# graphs: 1
"""Free variables that a class body hides, classes in classes, and a class made in a function that is called twice."""

import torch


class Hiding(type):
    @classmethod
    def __prepare__(mcls, name, bases):
        return {"hidden": 100}


def make(offset):
    shift, hidden = offset + 1, 5

    class Outer(metaclass=Hiding):
        before = shift
        seen = hidden

        class Inner:
            def apply(self, t):
                return t + shift + hidden

        def apply(self, t):
            return self.Inner().apply(t) * self.before + shift

    return Outer


def late(x):
    class Early:
        def apply(self, t):
            return t * factor

    factor = 3
    try:

        class Unbound:
            value = missing

        missing = 1
    except NameError as error:
        return Early().apply(x), str(error), missing if x is None else 2


def f(x):
    one, two = make(1), make(2)
    names = [cls.__qualname__ for cls in (one, one.Inner)]
    return one().apply(x), two().apply(x), one.before, two.before, one.seen, one is two, issubclass(two, one), names, late(x)


def inputs():
    return (torch.randn(2),)
