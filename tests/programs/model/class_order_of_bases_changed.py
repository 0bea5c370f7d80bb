# graphs: 0
"""What a class says of itself is asked again: its bases and name change between calls, and only an object leads to it."""


class Base:
    pass


class Extra:
    pass


class Leaf(Extra, Base):
    pass


def f(leaf):
    kind = type(leaf)
    return len(kind.__mro__), kind.__bases__, kind.__name__, kind.__qualname__, kind.__module__


def inputs():
    return (Leaf(),)


def fewer():
    Leaf.__bases__ = (Base,)
    return inputs()


def renamed():
    Leaf.__name__ = "Twig"
    return inputs()


def moved():
    Leaf.__qualname__, Leaf.__module__ = "Tree.Twig", "elsewhere"
    return inputs()


calls = [inputs, fewer, inputs, renamed, moved]
