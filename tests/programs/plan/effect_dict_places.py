# graphs: 9
"""Keys of a dict that is walked over go and come again, behind breaks: at the place that popitem() has left the walk goes on; behind all
others it raises."""

import minidynamo
import torch


def again(change, broken, x, walk=None):
    table = {"b": 2, "a": 0}
    out = []
    try:
        for item in table.items() if walk is None else walk(table):
            change(table)
            if broken:
                minidynamo.graph_break()
            out.append((item, x + len(out)))
            if len(out) == 4:
                break
    except RuntimeError as error:
        out.append(str(error))
    return out, table


def takes_last(table):
    table.popitem()
    table["a"] = 0


def takes_by_key(table):
    table.pop("a")
    table["a"] = 0


def deletes(table):
    del table["a"]
    table["a"] = len(table)


def takes_both(table):
    table.pop("b")
    table.popitem()
    table.update(c=1, d=2)


def ended(table, x):
    """The iterator is from before the call, and what is done to its dict shows after it alone."""
    takes_by_key(table)
    return x * 2


def f(x, table, walk):
    return (
        [again(change, broken, x) for change in (takes_last, takes_by_key, deletes, takes_both) for broken in (False, True)],
        ended(table, x),
        table,
        walk,
    )


def inputs():
    table = {"b": 2, "a": 0}
    return [torch.ones(2), table, iter(table)]
