"""The differences between two photos: of one call made eagerly, and of the same call captured."""

import dataclasses
import math
import re
from collections.abc import Iterator
from typing import Any

import torch

from minidynamo._verify.atoms import is_atom
from minidynamo._verify.kept import Kept, KeptTensor
from minidynamo._verify.photo import Photo


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """How far the numbers of two tensors a and b may be apart: |a - b| <= atol + rtol * max(|a|, r), where r is the root of the mean
    square of a. A compiler adds in another order, and what comes of a sum whose terms cancel is off by a part of the terms.

    Attributes:
        rtol, atol: for every dtype; None takes RTOL's entry, and for atol that of `torch.testing.assert_close`.
        exact: bit for bit, and with the same strides; NaN equals NaN.
    """

    rtol: float | None = None
    atol: float | None = None
    exact: bool = False


RTOL = {torch.float64: 1e-9, torch.float32: 1e-4, torch.float16: 5e-3, torch.bfloat16: 3e-2, torch.complex128: 1e-9, torch.complex64: 1e-4}
"""Of compiled code, by dtype; others have that of `torch.testing.assert_close`."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """One thing that is not the same.

    Attributes:
        path: what it is, from the root on: `shape of result[0]`.
        expected, actual: as it was eagerly, and captured, in words. Of numbers `actual` says both, and `expected` is empty.
    """

    path: str
    expected: str
    actual: str

    def __str__(self) -> str:
        path = _OF_A_MODULE.sub(r".\1", self.path)
        return f"{path}: {self.actual} in place of {self.expected}" if self.expected else f"{path}: {self.actual}"


# Where a module keeps its modules, parameters and buffers, which the program reads as attributes.
_OF_A_MODULE = re.compile(r"\._(?:modules|parameters|buffers)\['([^']+)'\]")


def differences(expected: Photo, actual: Photo, before: Photo, tolerance: Tolerance) -> Iterator[Difference]:
    """The differences, in the order of the roots, each object once.

    Args:
        expected, actual: photos with the same roots' names, of two calls that began with `before`.
        before: an object that it has must be the same in both; others need only be alike, and alike in what they share.
    """
    return _Comparison(expected, actual, before, tolerance).run()


class _Comparison:
    def __init__(self, expected: Photo, actual: Photo, before: Photo, tolerance: Tolerance) -> None:
        self._expected = expected
        self._actual = actual
        self._before = before
        self._tolerance = tolerance
        self._partner: dict[int, int] = {}  # address of what eager has -> address of what capture has
        self._partner_of: dict[int, int] = {}
        # As above, of the memory of tensors. What was there before the call is itself in both.
        self._memory = {storage: storage for storage in before.storages}
        self._memory_of = dict(self._memory)
        self._first_in: dict[tuple[bool, int], str] = {}  # (True if eagerly, storage) -> the first path there

    def run(self) -> Iterator[Difference]:
        names = [name for name in self._expected.roots if name in self._actual.roots]
        waiting = [(name, self._expected.roots[name], self._actual.roots[name]) for name in reversed(names)]
        while waiting:
            path, one, other = waiting.pop()
            found = self._pair(path, one, other)
            if found is not None:
                yield found
                continue
            kept_one, kept_other = self._expected.kept.get(id(one)), self._actual.kept.get(id(other))
            if kept_one is None or kept_other is None or id(one) in self._partner:
                continue
            self._partner[id(one)] = id(other)
            self._partner_of[id(other)] = id(one)
            contents = list(self._contents(path, kept_one, kept_other))
            yield from contents
            if not contents:
                pairs = zip(kept_one.parts, kept_other.parts, strict=False)
                waiting += reversed([(path + suffix, first, second) for (suffix, first), (_, second) in pairs])

    def _pair(self, path: str, one: Any, other: Any) -> Difference | None:
        """A difference that rules out that the two are one object in two runs, before their contents are compared."""
        if type(one) is not type(other):
            return Difference(f"type of {path}", type(one).__qualname__, type(other).__qualname__)
        if is_atom(one):
            return None if _same_atom(one, other, self._tolerance) else Difference(path, _shown(one), _shown(other))
        if (id(one) in self._before.kept or id(other) in self._before.kept) and one is not other:
            was_one, was_other = id(one) in self._before.kept, id(other) in self._before.kept
            return Difference(path, _origin(was_one), _origin(was_other) if was_one != was_other else "another one of them")
        partner, partner_of = self._partner.get(id(one)), self._partner_of.get(id(other))
        if partner not in (None, id(other)) or partner_of not in (None, id(one)):
            return Difference(path, *(("one object in two places", "two objects") if partner else ("two objects", "one object")))
        return None

    def _contents(self, path: str, one: Kept, other: Kept) -> Iterator[Difference]:
        for name, fact in one.facts.items():
            if fact != other.facts.get(name):
                yield Difference(f"{name} of {path}", _shown(fact), _shown(other.facts.get(name)))
                return
        if isinstance(one, KeptTensor) and isinstance(other, KeptTensor):
            yield from self._tensors(path, one, other)
        elif hasattr(one, "data") and hasattr(other, "data") and hasattr(one.data, "tobytes"):  # an array of NumPy's
            yield from self._arrays(path, one.data, other.data)
        if len(one.parts) != len(other.parts):
            yield Difference(f"what {path} holds", ", ".join(name for name, _ in one.parts), ", ".join(name for name, _ in other.parts))

    def _tensors(self, path: str, one: KeptTensor, other: KeptTensor) -> Iterator[Difference]:
        if self._tolerance.exact and one.stride != other.stride:
            yield Difference(f"strides of {path}", str(one.stride), str(other.stride))
        if one.storage is not None and other.storage is not None:
            first, second = one.storage.storage._cdata, other.storage.storage._cdata
            here = self._first_in.setdefault((True, first), path), self._first_in.setdefault((False, second), path)
            if self._memory.setdefault(first, second) != second or self._memory_of.setdefault(second, first) != first:
                yield Difference(f"memory of {path}", *(self._memory_in_words(path, shared) for shared in here))
        expected, actual = one.data(), other.data()
        if expected is not None and actual is not None:
            text = unlike(expected, actual, self._tolerance)
            if text:
                yield Difference(path, "", text)

    def _memory_in_words(self, path: str, first_path: str) -> str:
        return "its own" if first_path == path else f"shared with {first_path}"

    def _arrays(self, path: str, one: Any, other: Any) -> Iterator[Difference]:
        if one.dtype.kind not in "biufc":
            return  # objects are parts; texts and times are compared as bytes
        text = unlike(torch.from_numpy(one.copy()), torch.from_numpy(other.copy()), self._tolerance)
        if text:
            yield Difference(path, "", text)


def unlike(expected: torch.Tensor, actual: torch.Tensor, tolerance: Tolerance) -> str:
    """How the numbers of two tensors of one shape and dtype differ, in words; empty if they do not."""
    if expected.layout is not torch.strided:
        expected, actual = expected.to_dense(), actual.to_dense()
    if expected.is_quantized:
        expected, actual = expected.dequantize(), actual.dequantize()
    expected, actual = expected.detach().resolve_conj().resolve_neg(), actual.detach().resolve_conj().resolve_neg()
    is_inexact = expected.dtype.is_floating_point or expected.dtype.is_complex
    rtol, atol = _tolerances(expected.dtype, tolerance)
    if is_inexact:
        wide = torch.complex128 if expected.dtype.is_complex else torch.float64
        first, second = expected.to(wide), actual.to(wide)
        size = first.abs()
        finite = size[size.isfinite()]
        typical = finite.square().mean().sqrt() if finite.numel() else size.new_zeros(())
        close = (first - second).abs() <= atol + rtol * torch.maximum(size, typical)
        close |= (first == second) | (first.isnan() & second.isnan())
        close &= first.isfinite() == second.isfinite()
        if tolerance.exact and not expected.dtype.is_complex:
            close &= torch.signbit(first) == torch.signbit(second)
            close |= first.isnan() & second.isnan()
    else:
        first, second = expected, actual
        close = first == second
    if bool(close.all()):
        return ""
    wrong = int((~close).sum())
    place = tuple(int(index) for index in torch.unravel_index((~close).flatten().int().argmax(), close.shape)) if close.dim() else ()
    where = f" at {list(place)}" if place else ""
    text = f"{wrong} of {close.numel()} numbers differ, first{where}: {actual[place].item()} in place of {expected[place].item()}"
    if is_inexact:
        worst = (first - second).abs().nan_to_num(posinf=math.inf).max().item()
        text += f"; at most {worst:.3g} apart (allowed: {atol:.3g} + {rtol:.3g} times the size)"
    return text


def _tolerances(dtype: torch.dtype, tolerance: Tolerance) -> tuple[float, float]:
    if tolerance.exact:
        return 0.0, 0.0
    rtol, atol = torch.testing._comparison.default_tolerances(dtype)
    rtol = RTOL.get(dtype, rtol)
    return rtol if tolerance.rtol is None else tolerance.rtol, atol if tolerance.atol is None else tolerance.atol


def _same_atom(one: Any, other: Any, tolerance: Tolerance) -> bool:
    if one is other:
        return True
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        if one == other:
            return not tolerance.exact or math.copysign(1, one) == math.copysign(1, other)
        rtol, atol = _tolerances(torch.float64, tolerance)
        return abs(one - other) <= atol + rtol * abs(one) < math.inf
    if isinstance(one, complex) and isinstance(other, complex):
        return _same_atom(one.real, other.real, tolerance) and _same_atom(one.imag, other.imag, tolerance)
    if type(one).__module__ not in ("builtins", "torch"):
        return True  # an object of a library: what it holds is its own
    return bool(one == other)


def _origin(was_there: bool) -> str:
    return "an object from before the call" if was_there else "a new object"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."
