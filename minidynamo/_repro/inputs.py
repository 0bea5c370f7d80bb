"""The inputs and constants of a graph as source text: made from what they are (shape, strides, dtype, range), or kept for a data file."""

import math
import pickle
import re
from collections.abc import Sequence
from typing import Any

import torch

_LITERAL_ELEMENTS = 1000


class NotWritable(Exception):
    """A graph or an input that neither Python source nor a data file can make again; the text says which, and why."""


def copied_inputs(inputs: Sequence[Any]) -> list[Any]:
    """The inputs as they are now, in memory of their own, which they share among themselves as the given ones do."""
    storages: dict[int, torch.UntypedStorage] = {}
    return [_copied(value, storages) if isinstance(value, torch.Tensor) else value for value in inputs]


def _copied(value: torch.Tensor, storages: dict[int, torch.UntypedStorage]) -> torch.Tensor:
    if not has_plain_memory(value):
        try:
            with torch.no_grad():
                return value.detach().clone().requires_grad_(value.requires_grad)
        except Exception:  # a subclass's own
            return value
    storage = value.untyped_storage()
    if storage._cdata not in storages:
        storages[storage._cdata] = storage.clone()  # type: ignore[no-untyped-call]
    made = torch.empty(0, dtype=value.dtype, device=value.device)
    made.set_(storages[storage._cdata], value.storage_offset(), value.shape, value.stride())
    is_parameter = type(value) is torch.nn.Parameter
    return torch.nn.Parameter(made, value.requires_grad) if is_parameter else made.requires_grad_(value.requires_grad)


def has_plain_memory(value: Any) -> bool:
    """True if a tensor is made again from its shape, strides and dtype."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return False
    is_marked = value.is_conj() or value.is_neg()
    return value.layout is torch.strided and not value.is_quantized and value.device.type != "meta" and not is_marked


def input_lines(inputs: Sequence[Any], data: dict[str, Any]) -> list[str]:
    """A Python expression for each input. Tensors that share memory get the same `storage` number.

    Args:
        data: gets the inputs that have no source text but can be pickled (tensor subclasses).

    Raises NotWritable.
    """
    numbers: dict[int, int] = {}
    ranges = _ranges(inputs)
    lines = []
    for index, value in enumerate(inputs):
        if isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value)):
            lines.append(repr(value))
        elif isinstance(value, float):
            lines.append(f'float("{value}")')
        elif has_plain_memory(value):
            lines.append(_line(value, numbers, ranges))
        else:
            name = f"input {index}"
            data[name] = picklable(value, f"input {index} is a {type(value).__qualname__}, which")
            lines.append(f"data[{name!r}]")
    return lines


def picklable(value: Any, what: str) -> Any:
    """The value, if torch.save can save it. Raises NotWritable."""
    import io

    try:
        torch.save(value, io.BytesIO())
    except (pickle.PicklingError, TypeError, AttributeError, RuntimeError, NotImplementedError) as why:
        raise NotWritable(f"{what} has no source text and cannot be saved ({type(why).__name__}: {why})") from None
    if type(value).__module__ == "__main__" or "<locals>" in type(value).__qualname__:
        raise NotWritable(f"{what} cannot be imported by name")
    return value


def constant_line(name: str, value: torch.Tensor, data: dict[str, Any]) -> str:
    """A Python expression for a tensor that a graph holds: its exact values where they are few, else its place in the data file."""
    is_parameter = type(value) is torch.nn.Parameter
    plain = has_plain_memory(value) and value.is_contiguous() and value.numel() <= _LITERAL_ELEMENTS
    if not plain or value.is_complex() or (value.dtype.itemsize == 1 and value.is_floating_point()):
        data[f"constant {name}"] = picklable(value, f"the graph's constant {name} is a {type(value).__qualname__}, which")
        return f"data[{f'constant {name}'!r}]"
    values = re.sub(r"\b(inf|nan)\b", r'float("\1")', repr(value.detach().tolist()))
    return (
        f"constant({values}, {tuple(value.shape)}, {value.dtype}, device={str(value.device)!r}, "
        f"requires_grad={value.requires_grad}, is_parameter={is_parameter})"
    )


def _line(value: torch.Tensor, numbers: dict[int, int], ranges: dict[int, tuple[int, int]]) -> str:
    storage = value.untyped_storage()
    number = numbers.setdefault(storage._cdata, len(numbers))
    low, high = ranges.get(storage._cdata, (0, 1))
    return (
        f"tensor({tuple(value.shape)}, {value.stride()}, {value.dtype}, device={str(value.device)!r}, "
        f"requires_grad={value.requires_grad}, low={low}, high={high}, "
        f"storage={number}, offset={value.storage_offset()}, nbytes={storage.nbytes()}, is_parameter={type(value) is torch.nn.Parameter})"
    )


def _ranges(inputs: Sequence[Any]) -> dict[int, tuple[int, int]]:
    """The least and the greatest of the whole numbers that inputs show of each storage, so that indices stay valid."""
    found: dict[int, tuple[int, int]] = {}
    for value in inputs:
        if not has_plain_memory(value) or value.numel() == 0 or value.dtype.is_floating_point or value.dtype.is_complex:
            continue
        numbers = value.detach().to("cpu", torch.int64)
        low, high = int(numbers.min()), int(numbers.max())
        before = found.get(value.untyped_storage()._cdata, (low, high))
        found[value.untyped_storage()._cdata] = min(low, before[0]), max(high, before[1])
    return found
