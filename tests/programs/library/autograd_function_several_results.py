# graphs: 2
"""Results with and without a gradient, and others than tensors; None among what is saved."""

import torch
from torch.autograd import Function


class Parts(Function):
    @staticmethod
    def forward(ctx, x, weight, count):
        y = x * weight
        index = y.argmax()
        ctx.mark_non_differentiable(index)
        ctx.save_for_backward(x, None, weight)
        ctx.count = count
        return y, index, y.exp(), count, None

    @staticmethod
    def backward(ctx, grad, of_index, of_exp, *others):
        x, nothing, weight = ctx.saved_tensors
        assert nothing is None and others == (None, None)
        return grad * weight + of_exp * ctx.count, grad * x if ctx.needs_input_grad[1] else None, None


def f(x, weight):
    y, index, e, count, nothing = Parts.apply(x, weight, 2)
    return y * count, index, e, nothing


def inputs():
    torch.manual_seed(0)
    return torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)


def constant_weight():
    torch.manual_seed(0)
    return torch.randn(3, requires_grad=True), torch.randn(3)


calls = [inputs, inputs, constant_weight, constant_weight]
