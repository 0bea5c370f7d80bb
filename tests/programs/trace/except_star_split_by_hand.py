# graphs: 1
"""split, subgroup and derive of a group that the function made, with types and predicates."""

import torch


def f(x):
    group = ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [TypeError(2), ValueError(3)])])
    some, others = group.split(ValueError)
    few = group.subgroup(lambda error: bool(error.args) and error.args[0] == 2)
    none = group.subgroup(KeyError)
    made = group.derive([OSError(5)])
    return (
        x * len(some.exceptions),
        repr(some),
        repr(others),
        repr(few),
        none,
        repr(made),
        few.exceptions[0].exceptions[0] is group.exceptions[1].exceptions[0],
    )


def inputs():
    return (torch.randn(2),)
