"""The inputs of a graph as source text: made from what they are (shape, strides, dtype, range), or loaded from a file."""

from collections.abc import Sequence
from typing import Any

import torch


class NotWritable(Exception):
    """A graph or an input that Python source cannot make again; the text says which, and why."""


def check_inputs(inputs: Sequence[Any]) -> None:
    """Raises NotWritable for the first input that is neither a plain strided tensor nor a number."""
    for index, value in enumerate(inputs):
        if isinstance(value, (bool, int, float)):
            continue
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            raise NotWritable(f"input {index} is a {type(value).__qualname__}, which has no source text")
        if value.layout is not torch.strided or value.is_quantized or value.device.type == "meta":
            raise NotWritable(f"input {index} is a tensor without plain memory (layout {value.layout}, device {value.device})")


def input_lines(inputs: Sequence[Any]) -> list[str]:
    """A Python expression for each input. Tensors that share memory get the same `storage` number."""
    numbers: dict[int, int] = {}
    return [_line(value, numbers) for value in inputs]


def _line(value: Any, numbers: dict[int, int]) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    storage = value.untyped_storage()
    number = numbers.setdefault(storage._cdata, len(numbers))
    low, high = _range(value)
    return (
        f"tensor({tuple(value.shape)}, {value.stride()}, {value.dtype}, device={str(value.device)!r}, "
        f"requires_grad={value.requires_grad}, low={low}, high={high}, "
        f"storage={number}, offset={value.storage_offset()}, nbytes={storage.nbytes()}, is_parameter={type(value) is torch.nn.Parameter})"
    )


def _range(value: torch.Tensor) -> tuple[int, int]:
    """The least and the greatest value of whole numbers, so that indices stay valid; (0, 1) for other tensors."""
    if value.numel() == 0 or value.dtype.is_floating_point or value.dtype.is_complex:
        return 0, 1
    numbers = value.detach().to("cpu", torch.int64)
    return int(numbers.min()), int(numbers.max())
