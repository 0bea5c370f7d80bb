# graphs: 1
"""One fresh object and one tensor are stored in two arguments; they stay one."""

import torch


class Entry:
    def __init__(self, value):
        self.value = value


def f(x, table, items):
    entry = Entry(x * 2)
    table["entry"] = entry
    items.append(entry)
    items.append(entry.value)
    table["value"] = entry.value
    entry.late = "set afterwards"
    return entry.value + 1


def inputs():
    return torch.randn(2), {}, []
