# graphs: 0
"""An attribute is written, a cached function is called for the first time, and the attribute is written through vars()."""

import functools


@functools.lru_cache
def remembered(k):
    return k


class Box:
    pass


BOX = Box()


def f(box, key):
    box.count = 0
    vars(box)["count"] = remembered(key)
    box.other = vars(box)["count"]
    return box.count


def of(key):
    return lambda: (BOX, key)


calls = [of(1), of(1), of("one"), of("one"), of(1)]
inputs = calls[0]
