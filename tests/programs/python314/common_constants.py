# graphs: 1
"""all, any and tuple of a generator expression run as loops; an assertion does not ask what AssertionError is called."""
import torch


def shadowed(values):
    def all(values):
        return "shadowed"

    return all(value > 1 for value in values)


def f(x, n):
    values = [n, n + 1, n + 2]
    AssertionError = ValueError
    try:
        assert n == 5, "five"
    except ValueError:
        error = "wrong"
    except Exception as raised:
        error = type(raised).__name__
    try:
        raise NotImplementedError
    except NotImplementedError as raised:
        error += type(raised).__name__
    found = all(value > 3 for value in values), any(value > 5 for value in values), tuple(value * 2 for value in values)
    return x * sum(found[2]), found, error, shadowed(values), x[-1], 255 + n, 256 + n


def inputs():
    return torch.ones(3), 4
