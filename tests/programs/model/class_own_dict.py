# graphs: 1
"""Names that are looked up in the __dict__ of a class from before the call and of one of the function's own."""

import torch


class Base:
    inherited = 1


class Own(Base):
    own = 2

    def method(self):
        return 3


def f(x):
    class Local(Own):
        local = 4

    found = []
    for kind in (Own, Local, dict):
        view = kind.__dict__
        found += [view.get("own", 10), view.get("inherited"), "method" in view, "local" in vars(kind), "update" in view]
        try:
            found.append(view["local"])
        except KeyError as error:
            found.append(str(error))
    return x * found[0] + Own.__dict__["own"], found


def inputs():
    return (torch.randn(2),)
