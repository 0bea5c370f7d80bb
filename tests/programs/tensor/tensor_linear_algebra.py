# graphs: 1
"""Matrix products of every kind, einsum, linalg."""

import torch


def f(a, b, v):
    return (
        a @ b,
        torch.bmm(a[None], b[None]),
        torch.addmm(v, a, b),
        torch.einsum("ij,jk->ik", a, b),
        torch.outer(v, v) @ v,
        torch.linalg.norm(a, dim=1),
        torch.baddbmm(a[None], a[None], b[None], beta=0.5),
        torch.tensordot(a, b, dims=1),
        v.dot(v),
        torch.linalg.solve(a + 5 * torch.eye(3), v),
    )


def inputs():
    return torch.randn(3, 3), torch.randn(3, 3), torch.randn(3)
