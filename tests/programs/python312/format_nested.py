# graphs: 1
"""f-strings with the same quotes inside, backslashes, nested formats and lines."""

import torch


def f(x, names, width):
    head = f"{", ".join(names)}: {f"{f"{width:>{width}}"!r:<10}"}"
    lines = f"{"\n".join(
        name.upper()  # a comment
        for name in names
    )}"
    return x + len(head), head, lines, f"{x.shape=} {names[0]!r:>{width}}"


def inputs():
    return torch.ones(2, 3), ["a", "b"], 6
