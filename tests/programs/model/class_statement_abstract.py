# graphs: 1
"""Abstract classes and ones with __class_getitem__ that are defined in the function."""

import abc

import torch


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...


def f(x):
    class Square(Shape):
        def area(self):
            return x.sum()

    class Half(Shape):
        pass

    class Box:
        def __init__(self, value):
            self.value = value

        def __class_getitem__(cls, item):
            return cls(item)

    try:
        Half()
    except TypeError as error:
        message = str(error)
    facts = message, isinstance(Square(), Shape), Half.__abstractmethods__, Box[3].value
    return Square().area() * 2, facts


def inputs():
    return (torch.randn(2),)
