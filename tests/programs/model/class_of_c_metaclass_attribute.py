# graphs: 2
"""An attribute of a class is set whose metaclass sets them by C code of its own: ctypes lays out the structure then."""

import ctypes

import torch


def f(x):
    x = x + 1

    class Point(ctypes.Structure):
        pass

    Point._fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]
    point = Point(3, 4)
    return x * point.y, point.x, ctypes.sizeof(Point)


def inputs():
    return (torch.ones(2),)
