# graphs: 1
"""append, extend, insert, pop, remove, reverse and clear on list arguments."""

import torch


def f(queue, done, x):
    queue.extend((4, 5))
    queue.remove(4)
    queue.insert(1, "second")
    place, count = queue.index("second"), queue.count(5)
    queue.append(x + 1)
    task = queue.pop(0)
    queue.reverse()
    done.clear()
    done.append(task)
    return queue[0] * 2, place, count


def inputs():
    return [1, 2], ["old", "older"], torch.randn(2)
