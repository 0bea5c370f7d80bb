"""Guards sorted for people: what depends on the values that a program passes comes first, what hardly ever changes is folded."""

import dataclasses
import re
from collections.abc import Iterable

_PATH = re.compile(r"[LG]\['[^']*'\](?:\.\w+|\[[^\]]*\])*")
_CAUSE = re.compile(r"  # (?P<file>[^:]+):(?P<line>\d+)$")
_EQUAL = re.compile(rf"^(?:{_PATH.pattern}|len\({_PATH.pattern}\)|list\({_PATH.pattern}\)) == ")


_FOLDED = {"parameter": "parameters", "other": "types, names, classes and modes"}


@dataclasses.dataclass(frozen=True)
class GuardGroup:
    """Guards of one kind that begin at one variable.

    Attributes:
        path: the variable or attribute, as `L['x']`; "" where there is none, or several.
        kind: "tensor": dtype, device, shape and strides; "value": a number, text or the like, or the length or keys of a container;
            "size": what was asked of dynamic sizes; "parameter": as "tensor", of a module's parameters; "other": types, names, classes,
            modules and torch's modes.
        guards: the guards, as Python expressions.
    """

    path: str
    kind: str
    guards: tuple[str, ...]

    @property
    def is_folded(self) -> bool:
        """True if a short report counts these guards and does not print them."""
        return self.kind in _FOLDED

    @property
    def subject(self) -> str:
        """The subject of the guards of a folded group, in words."""
        return _FOLDED.get(self.kind, self.path)


def kind_of(guard: str) -> str:
    """Which kind of `GuardGroup` a guard belongs to."""
    text = _CAUSE.sub("", guard)
    path = _PATH.search(text)
    if path is None:
        return "other"
    if re.search(r"\.dtype == .*\.device == ", text):
        return "parameter" if " is torch.nn.parameter.Parameter and " in text else "tensor"
    # Attributes with an underscore are those of torch's modules: hooks, registered parameters.
    if _EQUAL.match(text) and not re.search(r"\._|\['_", path[0]):
        return "value"
    if re.search(r"\.size\(|\bs\d+\b", text) and re.search(r"[<>=]=?|%", text):
        return "size"
    return "other"


def grouped(guards: Iterable[str]) -> list[GuardGroup]:
    """The guards of an entry by kind and path: tensors, values and sizes in the order of the guards, then one group of each folded kind."""
    found: dict[tuple[str, str], list[str]] = {}
    folded: dict[str, list[str]] = {kind: [] for kind in _FOLDED}
    for guard in guards:
        kind = kind_of(guard)
        path = _PATH.search(guard)
        if kind in folded or path is None:
            folded[kind if kind in folded else "other"].append(guard)
        else:
            found.setdefault((path[0], kind), []).append(guard)
    groups = [GuardGroup(path, kind, tuple(texts)) for (path, kind), texts in found.items()]
    return groups + [GuardGroup("", kind, tuple(texts)) for kind, texts in folded.items() if texts]


def cause_of(guard: str) -> tuple[str, int] | None:
    """The name of the file, without its folder, and the line that made the guard necessary."""
    found = _CAUSE.search(guard)
    return (found["file"], int(found["line"])) if found else None
