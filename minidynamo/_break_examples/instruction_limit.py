import torch

settings_before = settings_after = {"trace_instruction_limit": 1000}


def before(x):
    total = 0.0
    for i in range(1, 1000):
        total += 1 / i
    return x * total


def after(x):
    return x * (1 / torch.arange(1, 1000, dtype=torch.float64)).sum().float()


def inputs():
    return (torch.ones(3),)
