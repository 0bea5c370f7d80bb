# graphs: 2
"""The best expert is looked up by an index that a tensor holds."""

import torch


class Router(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = torch.nn.ModuleList(torch.nn.Linear(3, 3) for _ in range(3))

    def forward(self, x, scores):
        best = torch.softmax(scores, 0).argmax().item()
        return self.experts[best](x) + best


f = Router()


def inputs():
    return torch.randn(2, 3), torch.tensor([0.1, 0.7, 0.2])
