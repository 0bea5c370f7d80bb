"""Each Python object that the C++ code names by a dotted path is there: a rename would show when the path is used, no earlier."""

import importlib
import pathlib
import re

import pytest

CSRC = pathlib.Path(__file__).parents[3] / "csrc"
USES = re.compile(r'"([A-Za-z_][\w.]*)"_imported|Imported(?:Type)?(?:\s+\w+)?\{\s*"([^"]+)"\}|\bimport_object\("([^"]+)"\)')

# Names of some versions of Python or torch alone: the code that asks for them lives without.
OPTIONAL = {
    "_warnings._acquire_lock",
    "torch.autograd.function._bind_default_args",
    "torch.autograd.function._call_custom_function_call",
    "typing._generic_class_getitem",
}


def names() -> list[str]:
    found = set()
    for file in [*CSRC.rglob("*.cpp"), *CSRC.rglob("*.h")]:
        for groups in USES.findall(file.read_text()):
            found.add(next(filter(None, groups)))
    return sorted(found)


def resolve(path: str) -> object:
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise ImportError(path)


def test_there_are_names() -> None:
    assert len(names()) > 150


@pytest.mark.parametrize("path", names())
def test_name_is_there(path: str) -> None:
    try:
        resolve(path)
    except (ImportError, AttributeError):
        if path not in OPTIONAL:
            raise
