"""The contents of the objects that a call can reach: taken, put back, and looked at again.

A photo holds, for each object that can be reached from named roots, what it held at that moment. A call can then be made twice from
one state (`put_back` between them), and two photos can be compared (`comparison`). Objects are kept by identity: nothing is copied but
the bytes of tensors and arrays, so that a captured function meets the very objects that its guards know.

What has no contents that can be read (an open file, a running generator) is listed in `Photo.opaque`. A call that changes it is made
twice for real.
"""

import functools
from collections.abc import Mapping
from typing import Any

import torch

from minidynamo._verify.atoms import is_atom
from minidynamo._verify.kept import Kept, KeptStorage, KeptTensor, kept_of


class Photo:
    """The contents of all objects that could be reached from the roots.

    Args:
        roots: the objects to begin with, under the names that reports use for them.

    Attributes:
        kept: the contents of each object, by its address.
        paths: where each object was found first, by its address.
        storages: the memory of the tensors, by the address of torch's storage.
        opaque: paths of objects whose contents cannot be read, and their types.

    Example:
        >>> items = [1, torch.zeros(2)]
        >>> before = Photo({"items": items})
        >>> items[1].add_(1); items.append(2)
        tensor([1., 1.])
        >>> before.put_back()
        >>> items
        [1, tensor([0., 0.])]
    """

    def __init__(self, roots: Mapping[str, Any]) -> None:
        self.roots = dict(roots)
        self.kept: dict[int, Kept] = {}
        self.paths: dict[int, str] = {}
        self.opaque: dict[str, str] = {}
        self.storages: dict[int, KeptStorage] = {}
        waiting = list(reversed(self.roots.items()))
        while waiting:
            path, value = waiting.pop()
            if is_atom(value) or id(value) in self.kept:
                continue
            kept = kept_of(value, self.storages)
            if kept is None:
                self.opaque.setdefault(path, type(value).__qualname__)
                continue
            if isinstance(value, functools._lru_cache_wrapper):
                self.opaque[path] = "functools.lru_cache"
            self.kept[id(value)] = kept
            self.paths[id(value)] = path
            waiting += [(path + suffix, part) for suffix, part in reversed(kept.parts)]

    def put_back(self) -> None:
        """Restores the contents of every object."""
        for kept in self.kept.values():
            kept.put_back()
            if isinstance(kept, KeptTensor) and kept.is_leaf != kept.value.is_leaf:  # the history of a view cannot be removed
                self.opaque[self.paths[id(kept.value)]] = "the history of a view"
        for storage in self.storages.values():
            storage.put_back()

    def leaves(self) -> list[torch.Tensor]:
        """The tensors that gradients are for."""
        return [kept.value for kept in self.kept.values() if isinstance(kept, KeptTensor) and kept.is_leaf and kept.facts["requires_grad"]]
