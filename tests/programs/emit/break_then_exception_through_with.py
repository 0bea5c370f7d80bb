# graphs: 3
"""An exception passes a manager that was entered before a break, and is caught outside."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Rollback:
    def __init__(self, store):
        self.store = store

    def __enter__(self):
        self.saved = dict(self.store)

    def __exit__(self, kind, value, trace):
        if kind is not None:
            self.store.clear()
            self.store.update(self.saved)


def f(x):
    store = {"x": x + 1}
    try:
        with Rollback(store):
            store["x"] = x * 100
            say("changed")
            store["y"] = x * 200
            say(sorted(store))
            raise RuntimeError("undo")
    except RuntimeError as error:
        message = str(error)
    return store["x"] - 1, sorted(store), message


def inputs():
    return (torch.randn(2),)
