# graphs: 2
"""Template strings keep their parts and their values."""
from string.templatelib import Interpolation, Template

import torch


def f(x, n):
    y = x * n
    template = t"{y} and {n!r:>{n}} {{n}}"
    parts = [part if isinstance(part, str) else (part.expression, part.conversion, part.format_spec) for part in template]
    assert isinstance(template, Template) and isinstance(template.interpolations[0], Interpolation)
    return template.values[0] + template.values[1], parts, template.strings


def inputs():
    return torch.ones(3), 4
