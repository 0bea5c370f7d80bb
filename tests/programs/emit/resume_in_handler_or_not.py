# graphs: 3
"""The breaking call raises in the second call, and the rest runs in the handler."""

import torch

import minidynamo

ANSWERS = iter([1.5, None, 1.5])


@minidynamo.disable
def ask():
    answer = next(ANSWERS)
    if answer is None:
        raise LookupError("no answer")
    return answer


def f(x):
    y = x * 2
    try:
        scale = ask()
    except LookupError as error:
        return y.abs(), str(error)
    return y * scale, "fine"


def inputs():
    return (torch.randn(2),)


calls = [inputs, inputs, inputs]
