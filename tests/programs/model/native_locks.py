# graphs: 1
"""Locks that the call makes, held while it computes."""

import threading

import torch


class Store:
    def __init__(self):
        self.lock = threading.RLock()
        self.values = []

    def put(self, value):
        with self.lock:
            self.values.append(value)
            return self.total()

    def total(self):
        with self.lock:
            return sum(self.values)


def f(x):
    store, guard = Store(), threading.Lock()
    y = x * store.put(2)
    with guard:
        held = guard.locked(), guard.acquire(blocking=False)
        y = y + store.put(3)
    return y, held, guard.locked(), store.values


def inputs():
    return (torch.randn(2),)
