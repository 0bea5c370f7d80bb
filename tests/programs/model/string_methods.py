# graphs: 1
"""String methods, slicing and formatting steer the computation."""

import torch


def f(x, spec):
    result = x
    for part in spec.strip().lower().split(","):
        name, _, count = part.partition(":")
        if name.startswith("si") and name[::-1] == "nis":
            result = result.sin()
        elif name.upper() in ("ADD", "PLUS"):
            result = result + int(count or "1")
        else:
            result = result * len(name.replace("m", ""))
    return result, f"{spec!r:>20}|{len(spec):03d}", "-".join(["a", "b"]), "%s=%d" % ("n", 3)


def inputs():
    return torch.randn(3), " SIN,add:2,mul "
