# graphs: 1
"""Each call of locals() in a function gives a dict of its own, which later assignments do not change (PEP 667)."""
import torch


def f(x, n):
    first = locals()
    y = x * n
    second = locals()
    first["n"] = 100
    n = n + 1
    third = [sorted(locals()) for _ in range(1)]
    exec("y = 5; hidden = 6")
    return y * n, sorted(first), sorted(second), first is second, third, first["n"], second["n"], "hidden" in locals()


def inputs():
    return torch.ones(3), 4
