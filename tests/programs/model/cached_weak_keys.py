# graphs: 1
"""Functions behind caches are called with weak references: to objects from before the call, and to a class that it makes."""

import functools
import weakref

import torch


class Scale:
    def __init__(self, value):
        self.value = value


@functools.lru_cache
def scale_of(reference, times):
    return reference().value * times


@functools.lru_cache
def note_of(*references):
    for reference in references:
        if "note" in vars(reference()):
            return reference().note
    return None


kept = Scale(3)


def f(x):
    class Local:
        note = "local"

    class Derived(Local):
        pass

    found = note_of(*[weakref.ref(entry) for entry in Derived.__mro__])
    none = note_of(weakref.ref(Scale), weakref.ref(object))
    Local.note = "later"
    return x * scale_of(weakref.ref(kept), 2) + scale_of(weakref.ref(kept), 2), found, none, Local.note


def inputs():
    return (torch.ones(3),)
