# graphs: 1
"""Attention by a chosen kernel; the choice is seen inside, and gone behind."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention


def kernels():
    return torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()


def f(x):
    with sdpa_kernel(SDPBackend.MATH):
        y = scaled_dot_product_attention(x, x, x)
        inside = kernels()
        with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
            y = scaled_dot_product_attention(y, x, x)
            nested = kernels()
    return y, inside, nested, kernels()


def inputs():
    return (torch.randn(1, 2, 5, 4),)
