# graphs: 1
"""min, max, sum, abs, round, divmod, pow, len, sorted, zip, all, any, chr, ord, hex, id-free ones."""

import torch


def f(x):
    numbers = [3, -1, 2]
    facts = (
        min(numbers), max(1, 5, 2), sum(numbers, 10), abs(-3), round(2.567, 2), divmod(7, 3), pow(2, 5), len("abc"),
        sorted(numbers, reverse=True), all([]), any([0, 1]), chr(97), ord("b"), hex(255), bin(5), oct(8), bool([]),
        int("12"), float(3), str(4), repr("q"), tuple("ab"), list(range(3)), dict(a=1), set("aa"), callable(len), hash(7),
    )  # fmt: skip
    return x * facts[0] + max(numbers), facts


def inputs():
    return (torch.randn(2),)
