import torch


def before(labels, padding):
    weight = 0.5 if padding in labels else 1.0
    return labels.float() * weight


def after(labels, padding):
    weight = torch.where((labels == padding).any(), 0.5, 1.0)
    return labels.float() * weight


def inputs():
    return torch.tensor([0, 2, 1, 2]), 0
