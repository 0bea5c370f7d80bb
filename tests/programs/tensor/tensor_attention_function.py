# graphs: 1
"""scaled_dot_product_attention with a mask, with is_causal and with a scale."""

import torch
import torch.nn.functional as F


def f(q, k, v, mask):
    a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    b = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return a + F.scaled_dot_product_attention(q, k, v, scale=0.5), b


def inputs():
    q, k, v = (torch.randn(1, 2, 4, 8, requires_grad=True) for _ in range(3))
    return q, k, v, torch.ones(4, 4, dtype=torch.bool).tril()
