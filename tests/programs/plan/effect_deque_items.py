# graphs: 4
"""Items of a deque are set behind a break while an iterator from before it goes on; where elements come and go, it ends as eagerly."""

import collections

import minidynamo
import torch


def sets(q, x):
    for n in q:
        minidynamo.graph_break()
        q[0] = x + n
        q[-1] = 5
    return q


def changes(q, change, x):
    out = []
    try:
        for n in q:
            minidynamo.graph_break()
            change(q)
            out.append(x + n)
    except RuntimeError as error:
        out.append(str(error))
    return out, q


def rotates(q):
    q.rotate(1)


def moves(q):
    q.append(q.popleft())


def f(x):
    swaps = collections.deque([1, 2])
    swaps[0], swaps[1] = swaps[1], swaps[0]
    return (
        sets(collections.deque([1, 2]), x),
        changes(collections.deque([1, 2]), rotates, x),
        changes(collections.deque([1, 2]), moves, x),
        swaps,
    )


def inputs():
    return [torch.ones(2)]
