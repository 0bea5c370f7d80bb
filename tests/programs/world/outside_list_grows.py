# graphs: 3
"""Items that are put to the end of lists from before the call, which are read before, behind and in between, or not at all."""

import torch

SEEN = [1, 2]
NESTED = [[], [SEEN]]


class Log:
    def __init__(self):
        self.losses = []
        self.rows = [(0, 1)]


LOG = Log()
ALIASES = {"losses": LOG.losses}


def f(x, given, other):
    y = x + 1
    LOG.losses.append(y.sum())
    LOG.losses.append(len(SEEN))
    LOG.rows.extend([(1, y), (2, x)])
    LOG.rows += ((3,),)
    ALIASES["losses"].append("through another name")
    found = [len(LOG.losses), LOG.losses[-1], LOG.losses[-2], bool(LOG.rows), LOG.rows[0], LOG.rows[-1]]
    given.append(1)
    given.append(other)
    first = given[0]
    given.extend(given)
    other.append(given)
    other.append(other)
    SEEN.append(SEEN)
    SEEN.append(3)
    SEEN.pop()
    NESTED[0].append(NESTED)
    NESTED[1][0].append(4)
    walked = [item for item in NESTED[1][0] if item is not SEEN]
    del LOG.losses[:1]
    try:
        LOG.rows.append(1, 2)
    except TypeError as error:
        found.append(str(error))
    try:
        found.append(LOG.rows[99])
    except IndexError as error:
        found.append(str(error))
    LOG.rows.append(5)
    return y, found, first, walked, len(other), len(SEEN), LOG.rows


def inputs():
    return torch.ones(2), [0], []


def changed():
    return torch.ones(2), [7, 8], [9]


calls = [inputs, inputs, changed]
