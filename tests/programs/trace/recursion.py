# graphs: 1
"""A recursive function, and two that call each other."""

import torch


def power(x, n):
    return x if n == 1 else x * power(x, n - 1)


def even(x, n):
    return x if n == 0 else odd(x + 1, n - 1)


def odd(x, n):
    return -x if n == 0 else even(x * 2, n - 1)


def f(x):
    return power(x, 5), even(x, 4), odd(x, 4)


def inputs():
    return (torch.randn(3),)
