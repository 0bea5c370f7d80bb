"""Golden texts: a program of the corpus, and what it becomes. tests/golden/NAME.txt belongs to tests/programs/ROOM/NAME.py.

They are read by people: what a change does to guards, graphs and residual code is seen in the difference.

    python tests/python/oracles/golden.py                   # writes all of them anew
    python tests/python/oracles/golden.py --add dict_views  # and others
"""

import argparse
import pathlib
import re
import types
from collections.abc import Iterator
from typing import Any

import differential
import torch

import minidynamo
from minidynamo import _C, debug
from minidynamo._capture import graph_source

GOLDEN = pathlib.Path(__file__).parents[2] / "golden"

# Text that differs from one process or machine to another.
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_NUMBER = re.compile(r"(?<=__minidynamo_compiled_fn_)\d+")
_TORCH = str(pathlib.Path(torch.__file__).parent)
_TORCH_STATE = "torch.is_grad_enabled() == "

# The pages that are about instructions show those of the function.
_ABOUT_INSTRUCTIONS = {
    "break_in_finally",
    "break_in_for_loop",
    "class_statement_body",
    "closure_nonlocal_counter",
    "comprehension_list",
    "control_match_structure",
    "except_star_split",
    "exception_caught",
    "generator_with_finally",
    "typing_inside",
}
_LONG_GUARD = 120  # characters


def names() -> list[str]:
    return sorted(path.stem for path in GOLDEN.glob("*.txt"))


def text_of(name: str) -> str:
    """The text of what the program's calls leave: the code of `f`, and each entry in the order in which they were made.

    Runs with the backend "eager"; guards on torch's settings are left out, and so is all that no reader would compare.
    """
    path = next(path for path in differential.PROGRAMS if path.stem == name)
    minidynamo.reset()
    captured: list[Any] = []

    def wrap(target: Any) -> Any:
        captured.append(minidynamo.compile(target, backend="eager"))
        return captured[0]

    differential.observe(path, wrap)
    parts = [path.read_text().strip(), *_parts(captured[0], name in _ABOUT_INSTRUCTIONS)]
    text = "\n\n".join(parts) + "\n"
    text = text.replace(str(path), path.name).replace(_TORCH, "torch")
    return _NUMBER.sub("N", _ADDRESS.sub("0x...", text))


def _parts(captured: Any, shows_instructions: bool) -> Iterator[str]:
    numbers: dict[types.CodeType, int] = {}
    for code in debug.codes_of(captured, resumed=True):
        numbers[code] = len(numbers)
        if numbers[code]:
            yield _titled(f"resume function {numbers[code]} of {code.co_qualname}", f"first line {code.co_firstlineno}")
        elif shows_instructions:
            yield _titled(f"instructions of {code.co_qualname}", _C.bytecode_text(code))
        for index, entry in enumerate(reversed(debug.cache_entries(code))):
            of = f"entry {index} of {code.co_qualname}" + (f", resume function {numbers[code]}" if numbers[code] else "")
            yield _titled(f"{of}: guards", "\n".join(_guard_lines(guard) for guard in entry.guards if _TORCH_STATE not in guard))
            graph = "none" if entry.graph_module is None else graph_source.graph_text(entry.graph_module).strip()
            yield _titled(f"{of}: graph", graph)
            yield _titled(f"{of}: residual code", entry.source.strip())
    for record in debug.graph_breaks() + debug.uncaptured():
        yield _titled(f"{record.kind} [{record.reason}]", f"line {record.line}: {record.detail}")


def _guard_lines(guard: str) -> str:
    """A guard on one line, or the conditions of a long one two on a line."""
    if len(guard) <= _LONG_GUARD:
        return guard
    conditions = guard.split(" and ")
    return "\n    and ".join(" and ".join(conditions[first : first + 2]) for first in range(0, len(conditions), 2))


def _titled(title: str, text: str) -> str:
    return f"=== {title}\n{text}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--add", nargs="*", default=[], metavar="NAME", help="programs of tests/programs")
    for name in sorted({*names(), *parser.parse_args().add}):
        (GOLDEN / f"{name}.txt").write_text(text_of(name))


if __name__ == "__main__":
    main()
