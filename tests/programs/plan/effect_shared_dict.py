# graphs: 1
"""Objects from before the call whose __dict__ is theirs, another object's, or a dict that the program has too."""

import torch


class Settings(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


class Plain:
    def __init__(self):
        self.own = 1


def f(x, settings, first, second, table, holder):
    settings.rate = x + 1
    settings["scale"] = x * 2
    found = "rate" in settings, len(settings), settings.get("rate"), settings.scale, sorted(vars(settings))
    del settings["scale"]
    seen = second.own
    first.own = x + 3
    second.new = x - 1
    shared = seen, second.own, first.new, vars(second)["own"]
    holder.count = len(table) + 1
    holder.value = x
    table["key"] = holder.value + 1
    mine = vars(holder)
    holder.later = 2
    third = Plain()
    third.__dict__ = first.__dict__
    third.last = x * 3
    first.own = third.last + 1
    return found, hasattr(settings, "scale"), shared, list(table), holder.key, mine["later"], third, third.own


def inputs():
    first, second = Plain(), Plain()
    second.__dict__ = first.__dict__
    table, holder = {"count": 0}, Plain()
    holder.__dict__ = table
    return torch.tensor([0.5, -1.0]), Settings(scale=1), first, second, table, holder
