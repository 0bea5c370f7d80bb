# graphs: 1
"""The __torch_function__ of subclasses is switched off for some lines."""

import torch


def f(x):
    asked = [torch._C._is_torch_function_enabled()]
    with torch._C.DisableTorchFunctionSubclass():
        y = x * 2
        asked.append(torch._C._is_torch_function_enabled())
        with torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            y = y + 1
    asked.append(torch._C._is_torch_function_enabled())
    return y.cos(), asked


def inputs():
    return (torch.randn(2, requires_grad=True),)
