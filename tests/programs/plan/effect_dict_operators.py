# graphs: 1
"""Items of a dict argument are set, changed in place and deleted; |= merges."""

import torch


def f(stats, x):
    stats["loss"] = x.mean()
    stats["steps"] += 1
    del stats["stale"]
    stats |= {"steps": stats["steps"] * 10, "new": (1, 2)}
    return list(stats), stats["loss"] * 2


def inputs():
    return {"steps": 4, "stale": None}, torch.randn(2)
