# graphs: 1
"""Each write is read back by another way than it was made."""

import torch


class Record:
    def __init__(self):
        self.items, self.table, self.value = [1], {"k": 1}, 1


def f(x, record):
    record.value = 10
    record.items.append(record.value)
    record.table["k"] += record.items[-1]
    total = sum(record.items) + sum(record.table.values())
    return x * total, getattr(record, "value") in record.items


def inputs():
    return torch.randn(2), Record()
