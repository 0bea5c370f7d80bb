import torch


def before(x, table):
    return x * sum(table) / len(table)


def after(x, table):
    return x * table.mean()


def call_after(captured, x, table):
    return captured(x, torch.tensor(table))


def inputs():
    return torch.ones(3), [0.5] * 1_100_000
