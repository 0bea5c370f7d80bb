import torch


def before(x, name):
    return {name: x.sin() + 1}


def call_before(captured, x):
    results = {}
    for step in range(12):
        results |= captured(x, f"step {step}")
    return results


def after(x):
    return x.sin() + 1


def call_after(captured, x):
    return {f"step {step}": captured(x) for step in range(12)}


def inputs():
    return (torch.ones(3),)
