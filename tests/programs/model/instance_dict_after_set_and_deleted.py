# graphs: 1
"""An attribute that the call sets and deletes was never in the object's __dict__, which the call then asks for."""

import torch


class Holder:
    def __init__(self) -> None:
        self.kept = 2


def f(x: torch.Tensor, holder: Holder) -> torch.Tensor:
    holder.made = 1
    del holder.made
    names = vars(holder)
    names["again"] = 3
    del names["again"]
    return x * len(names)


def inputs() -> tuple[torch.Tensor, Holder]:
    return torch.ones(2), Holder()
