# graphs: 1
"""A comprehension calls methods that change an argument for their effect."""

import torch


def f(x, stack):
    popped = [stack.pop() for _ in range(2)]
    [stack.append(item * 2) for item in popped]
    total = [stack.append(x + k) or len(stack) for k in range(2)]
    return popped, total, stack[-1] * 2


def inputs():
    return torch.randn(2), [1, 2, 3]
