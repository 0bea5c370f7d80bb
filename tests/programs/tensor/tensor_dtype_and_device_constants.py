# graphs: 1
"""dtype and device in comparisons, conversions and dict keys."""

import torch

WIDER = {torch.float32: torch.float64, torch.int64: torch.float32}


def f(x, n):
    if x.dtype == torch.float32 and x.device == torch.device("cpu") and x.is_floating_point():
        x = x.to(WIDER[x.dtype])
    y = n.to(x).type(torch.float32).half().float()
    limit = torch.finfo(x.dtype).eps + torch.iinfo(n.dtype).bits
    return x + limit, y.double() + x, x.dtype.is_floating_point, n.long().dtype


def inputs():
    return torch.randn(3), torch.tensor([1, 2, 3])
