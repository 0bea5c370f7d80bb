import torch

settings_before = settings_after = {"trace_node_limit": 50}


def before(x):
    rows = []
    for row in x:
        rows.append(row.sin())
    return torch.stack(rows)


def after(x):
    return x.sin()


def inputs():
    return (torch.ones(100, 2),)
