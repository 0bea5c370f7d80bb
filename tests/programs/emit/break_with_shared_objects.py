# graphs: 2
"""One list has three names when the graph breaks: a local, an element and an attribute."""

import torch

import minidynamo

say = minidynamo.disable(print)  # a graph break


class Holder:
    pass


def f(x):
    items = [x * 2]
    nested = {"items": items}
    holder = Holder()
    holder.items = items
    holder.own = holder
    say(nested["items"] is holder.items)
    items.append(x + 1)
    return len(holder.own.items), nested["items"] is items, holder.items


def inputs():
    return (torch.randn(2),)
