"""`options={"guard_filter_fn": ...}`: the guards of a capture, offered to the user's filter in the terms of `torch.compile`.

What is offered has the fields that torch's filters read: those of `torch.compiler` (`skip_guard_on_globals_unsafe`...) work as they
are. The names of the kinds are torch's; what has no name there keeps ours. Torch's own state (gradients, autocast, modes) is offered
once, under "GLOBAL_STATE", and is checked whatever the filter says; so is what would make a check unsafe (csrc/guard/guard_filter.h).
"""

import dataclasses
from collections.abc import Callable, Sequence

import torch

# (path, kind, whether it is about something absent, what it is about and what that was fetched from, outwards)
Row = tuple[str, str, bool, tuple[object, ...]]
Filter = Callable[[Sequence["GuardFilterEntry"]], Sequence[bool]]

_TORCH_NAMES = {
    "Tensor": "TENSOR_MATCH",
    "ExactType": "TYPE_MATCH",
    "Constant": "EQUALS_MATCH",
    "Value": "EQUALS_MATCH",
    "Identity": "ID_MATCH",
    "Names": "ID_MATCH",
    "Length": "SEQUENCE_LENGTH",
    "DictKeys": "DICT_KEYS_MATCH",
    "SetItems": "SET_CONTAINS",
    "Missing": "NOT_PRESENT_IN_GENERIC_DICT",
    "Present": "HASATTR",
    "SpecialMethods": "TYPE_MATCH",
    "Bases": "TYPE_MATCH",
    "Integer": "TYPE_MATCH",
    "HeldOnce": "ID_MATCH",
}


@dataclasses.dataclass(frozen=True)
class GuardedSource:
    """Where what a guard is about was found.

    Attributes:
        name: the path, as `L['self'].weight`.
        modules: the modules that lead there, innermost first.
    """

    name: str
    modules: tuple[torch.nn.Module, ...] = dataclasses.field(default=(), repr=False)

    def is_unspecialized_nn_module(self) -> bool:
        """True if it is a module, or was found in one."""
        return bool(self.modules)

    def is_unspecialized_builtin_nn_module(self) -> bool:
        """The same of a module whose class is torch.nn's own."""
        return bool(self.modules) and type(self.modules[0]).__module__.startswith(("torch.nn.", "torch.ao."))

    def is_global(self) -> bool:
        return self.name.startswith("G[")


@dataclasses.dataclass(frozen=True)
class OfferedGuard:
    """One guard. `kind` is minidynamo's name for it, `guard_types` has torch's."""

    name: str
    kind: str
    source: GuardedSource

    @property
    def originating_source(self) -> GuardedSource:
        return self.source

    @property
    def guard_types(self) -> list[str]:
        return [self.create_fn_name()]

    def create_fn_name(self) -> str:
        return _TORCH_NAMES.get(self.kind, self.kind)


@dataclasses.dataclass(frozen=True)
class GuardFilterEntry:
    """The argument of a filter for each guard: the fields of torch's class of this name.

    Attributes:
        name: the path; for a local of the function without the `L['...']` around it.
        has_value, value: the object found there; `has_value` is False where the guard requires its absence.
        guard_type: torch's name for what is checked: "TENSOR_MATCH", "TYPE_MATCH", "EQUALS_MATCH", "ID_MATCH"...
        derived_guard_types: further names; the same one.
        is_global: whether the path begins at a global of the function's module.
        orig_guard: `orig_guard.source` tells of modules, as `is_unspecialized_nn_module()`.
    """

    name: str
    has_value: bool
    value: object
    guard_type: str
    derived_guard_types: tuple[str, ...]
    is_global: bool
    orig_guard: OfferedGuard


_NO_VALUE = object()


def wanted(choose: Filter, rows: Sequence[Row]) -> list[bool]:
    """Which of the guards the filter wants, in their order.

    Raises TypeError if its result is not a list of bools, one for each guard; and whatever the filter raises.
    """
    state = OfferedGuard("", "GLOBAL_STATE", GuardedSource(""))
    entries = [_entry(row) for row in rows] + [GuardFilterEntry("", False, _NO_VALUE, "GLOBAL_STATE", (), False, state)]
    answers = list(choose(entries))
    if len(answers) != len(entries) or not all(isinstance(answer, bool) for answer in answers):
        raise TypeError(f"guard_filter_fn has to give a bool for each of {len(entries)} guards, got {answers!r:.200}")
    return answers[:-1]


def _entry(row: Row) -> GuardFilterEntry:
    path, kind, is_absent, owners = row
    modules = tuple(owner for owner in owners if isinstance(owner, torch.nn.Module))
    guard = OfferedGuard(path, kind, GuardedSource(path, modules))
    has_value = not is_absent and bool(owners)
    return GuardFilterEntry(
        name=_without_local_scope(path),
        has_value=has_value,
        value=owners[0] if has_value else _NO_VALUE,
        guard_type=guard.create_fn_name(),
        derived_guard_types=tuple(guard.guard_types),
        is_global=guard.source.is_global(),
        orig_guard=guard,
    )


def _without_local_scope(path: str) -> str:
    """`L['x'].a` as `x.a`."""
    if not path.startswith("L['"):
        return path
    name, _, rest = path[3:].partition("']")
    return name + rest
