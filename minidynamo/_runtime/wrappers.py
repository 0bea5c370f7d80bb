"""Tensors that wrap tensors, made by graphs and by residual code as the program made them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch


def make_wrapper(kind: type, arguments: Sequence[Any], keywords: Mapping[str, Any], attributes: Mapping[str, Any]) -> torch.Tensor:
    """Makes a tensor that wraps others, without a call of its class's own methods.

    Arguments:
        kind: its class.
        arguments: what `_make_wrapper_subclass` is given after the class: sizes and the like.
        keywords: the same by keyword.
        attributes: what the tensor holds, by name.

    Returns:
        The tensor.
    """
    made: torch.Tensor = torch.Tensor._make_wrapper_subclass(kind, *arguments, **keywords)
    for name, value in attributes.items():
        object.__setattr__(made, name, value)
    return made


def maker(
    kind: type, arguments: Sequence[Any], keywords: Mapping[str, Any], names: Sequence[str], held: Mapping[str, Any]
) -> Callable[..., torch.Tensor]:
    """The function that a node of a graph calls to make such a tensor of its parts.

    Arguments:
        kind: its class.
        arguments: those of `_make_wrapper_subclass` after the class.
        keywords: the same by keyword.
        names: those of the attributes that are the node's arguments, in their order.
        held: the other attributes.

    Returns:
        A function of the parts.
    """

    def make(*parts: Any) -> torch.Tensor:
        return make_wrapper(kind, arguments, keywords, {**held, **dict(zip(names, parts, strict=True))})

    make.__name__ = make.__qualname__ = f"make_{kind.__name__}"
    return make
