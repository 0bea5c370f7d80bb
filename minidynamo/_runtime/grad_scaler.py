"""A step of an optimizer that torch.amp.GradScaler may leave out, as a trace runs it: it is made, and taken back by `where`."""

from collections.abc import Iterable
from typing import Any

import torch


def found_infinite(state: dict[str, Any]) -> torch.Tensor:
    """A tensor that is true if gradients were infinite or NaN: torch notes 0 where none was. `state` is the scaler's, for one optimizer."""
    found: torch.Tensor = sum(state["found_inf_per_device"].values(), torch.zeros(()))
    return found != 0


def _tensors_in(values: Iterable[Any]) -> list[torch.Tensor]:
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, dict):
            found.extend(_tensors_in(value.values()))
        elif isinstance(value, (list, tuple)):
            found.extend(_tensors_in(value))
    return found


def what_a_step_writes(optimizer: torch.optim.Optimizer) -> list[torch.Tensor]:
    parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
    return parameters + _tensors_in(optimizer.state.values())


def copies(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.detach().clone() for tensor in tensors]


def take_back(tensors: list[torch.Tensor], before: list[torch.Tensor], is_left_out: torch.Tensor) -> None:
    with torch.no_grad():
        for tensor, old in zip(tensors, before, strict=True):
            tensor.copy_(torch.where(is_left_out, old, tensor))
