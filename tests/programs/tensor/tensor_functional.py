# graphs: 1
"""torch.nn.functional with many options."""

import torch
import torch.nn.functional as F


def f(x, weight):
    a = F.linear(x, weight)
    b = F.gelu(a) + F.silu(a) + F.softplus(a) + F.elu(a) + F.hardtanh(a, -0.5, 0.5)
    c = F.layer_norm(b, (3,)) + F.normalize(b, dim=-1)
    d = F.pad(c, (1, 1), value=2.0)
    e = F.avg_pool1d(d[None], 2)
    g = F.cosine_similarity(c, a) + F.mse_loss(a, c)
    return e, g, F.log_softmax(c, dim=-1), F.glu(d[:, :4])


def inputs():
    return torch.randn(2, 3, requires_grad=True), torch.randn(3, 3, requires_grad=True)
