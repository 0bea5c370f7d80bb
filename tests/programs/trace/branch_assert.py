# graphs: 1
"""An assertion on a tensor that holds."""

import torch


def f(probabilities):
    assert (probabilities >= 0).all(), "probabilities are negative"
    return -(probabilities * probabilities.log()).sum()


def inputs():
    return (torch.tensor([0.25, 0.75]),)
