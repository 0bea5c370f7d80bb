# graphs: 2
"""A generator that a variable alone holds ends where another takes its place, in the trace behind a graph break too."""

import torch

EVENTS = []


def talks(name):
    try:
        yield len(name)
    finally:
        EVENTS.append(name)


def f(x):
    del EVENTS[:]
    for name in ("a", "b"):
        print(end="")
        talk = talks(name)
        x = x + next(talk)
        EVENTS.append("made " + name)
    for number, _ in enumerate(EVENTS):
        if number > 5:
            break
        print(end="")
        talk = talks(str(number))
        next(talk)
    return x, list(EVENTS)


def inputs():
    return (torch.ones(2),)
