# graphs: 1
"""Abstract base classes, Generic and Protocol in the ancestry."""

import abc
from typing import Generic, TypeVar

import torch

T = TypeVar("T")


class Transform(abc.ABC, Generic[T]):
    @abc.abstractmethod
    def apply(self, x: T) -> T: ...

    def __call__(self, x: T) -> T:
        return self.apply(x) + 1


class Double(Transform[torch.Tensor]):
    def apply(self, x):
        return x * 2


TRANSFORM = Double()


def f(x):
    return TRANSFORM(x), isinstance(TRANSFORM, Transform), issubclass(Double, Transform)


def inputs():
    return (torch.randn(2),)
