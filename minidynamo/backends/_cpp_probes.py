"""Which vector instructions the C++ compiler and torch's library know: asked once on a machine, and no more than is needed.

For each new cache folder, Inductor compiles and loads a small program for each set of instructions that the processor has, and for some
of their extensions: six programs, five CPU seconds, although it takes the first set that there is. Their answers follow from the versions
of the compiler and torch. Here sets are tried until one is asked for no more, one program asks about a set and its extensions at once,
and yes is kept on disk.
"""

import contextlib
import hashlib
import platform
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, overload

import torch

from minidynamo import config
from minidynamo._artifacts import folder


class _Sets(Sequence[Any]):
    """The sets of instructions of a list that there are. Each is tried when somebody gets that far."""

    def __init__(self, candidates: list[Any]) -> None:
        self._found: list[Any] = []
        self._left = candidates

    def _find(self, count: int) -> None:
        while self._left and len(self._found) < count:
            candidate = self._left.pop(0)
            if candidate:
                self._found.append(candidate)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        self._find(index + 1 if isinstance(index, int) and index >= 0 else sys.maxsize)
        return self._found[index]

    def __len__(self) -> int:
        self._find(sys.maxsize)
        return len(self._found)

    def __bool__(self) -> bool:
        self._find(1)
        return bool(self._found)


_sets: dict[Any, _Sets] = {}


def sets_as_needed(original: Callable[[], Sequence[Any]]) -> Sequence[Any]:
    """Stands for torch's `valid_vec_isa_list`, the sets of vector instructions that can be used here, the best first."""
    from torch._inductor import cpu_vec_isa

    if sys.platform != "linux" or platform.machine() != "x86_64":
        return original()
    if original not in _sets:
        of_processor = cpu_vec_isa.x86_isa_checker()
        _sets[original] = _Sets([isa for isa in cpu_vec_isa.supported_vec_isa_list if set(str(isa).split()) <= {*of_processor}])
    return _sets[original]


def answer(fingerprint_of: Callable[[str], str], original: Callable[..., Any], isa: Any, code: str) -> bool:
    """Stands for torch's `VecISA.check_build`: true if the compiler and the loader take a program with the instructions of a set.

    Only yes is kept: no may be a full disk.
    """
    if not config.artifacts:
        return bool(original(isa, code))
    flags = isa.build_arch_flags()
    asked = [code, fingerprint_of(flags), torch.__file__, repr(sorted(torch.cpu.get_capabilities().items()))]
    name = hashlib.sha256("\n".join(asked).encode()).hexdigest()
    with contextlib.suppress(OSError, folder.Untrusted):
        if folder.is_known(name):
            return True
    found = _is_proved(original, isa, code, flags) or bool(original(isa, code))
    if found:
        with contextlib.suppress(OSError, folder.Untrusted):
            folder.make_known(name)
    return found


class _Proof(NamedTuple):
    """Programs that the compiler took as one, with these flags."""

    programs: frozenset[str]
    flags: frozenset[str]


_proofs: dict[type, _Proof] = {}

# Programs for extensions of a set, by the attribute of torch's class that has their text, with the flags that they need beyond the set's,
# and whether the processor has the extension.
_EXTENSIONS: tuple[tuple[str, str, str], ...] = (
    ("_avx512_bf16_code", " -mavx512bf16", "_is_avx512_bf16_supported"),
    ("_avx512_vnni_code", "", "_is_vnni_supported"),
    ("_amx_code", "", "_is_amx_tile_supported"),
)


def _is_proved(original: Callable[..., Any], isa: Any, program: str, flags: str) -> bool:
    """True if the compiler has taken this program among others, with all of these flags.

    The first question about a set is asked together with those that follow if the answer is yes.
    """
    proof = _proofs.get(type(isa))
    if proof is None:
        proof = _proofs[type(isa)] = _proved_together(original, isa, program)
    return program in proof.programs and {*flags.split()} <= proof.flags


def _proved_together(original: Callable[..., Any], isa: Any, program: str) -> _Proof:
    programs, more_flags = [program], ""
    for attribute, flags, has in _EXTENSIONS:
        text = getattr(isa, attribute, None)
        if isinstance(text, str) and text not in programs and getattr(torch.cpu, has, bool)():
            programs.append(text)
            more_flags += flags
    flags_before = getattr(isa, "_arch_flags", None)
    if len(programs) == 1 or not isinstance(flags_before, str):
        return _Proof(frozenset(), frozenset())
    isa._arch_flags = flags_before + more_flags
    try:
        flags = isa.build_arch_flags()
        is_taken = original(isa, "\n".join(programs))
    finally:
        isa._arch_flags = flags_before
    return _Proof(frozenset(programs), frozenset(flags.split())) if is_taken else _Proof(frozenset(), frozenset())
