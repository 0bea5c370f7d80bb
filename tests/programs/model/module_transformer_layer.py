# graphs: 1
"""torch.nn.TransformerEncoderLayer in training mode without dropout."""

import torch

f = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)


def inputs():
    return (torch.randn(2, 5, 8),)
