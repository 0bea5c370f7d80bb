"""The environment variables that are ours: what they are for, and what is said where one is misspelt or has a wrong value.

An environment is often not the program's to mend, so nothing here fails: what is wrong is said in the log, with what is used
instead. The same value assigned to `minidynamo.config` raises.
"""

import difflib
import os
from collections.abc import Callable, Mapping
from typing import TypeVar

from minidynamo._records.user_warnings import warn

Value = TypeVar("Value")

VARIABLES: Mapping[str, str] = {
    "MINIDYNAMO": "1 captures the whole program",
    "MINIDYNAMO_BACKEND": "the backend of a whole program's capture, eager unless set",
    "MINIDYNAMO_LOGS": "topics to log",
    "MINIDYNAMO_REGIONS": "0 compiles graphs whole",
    "MINIDYNAMO_ARTIFACTS": "0 keeps nothing that was compiled on disk",
    "MINIDYNAMO_ARTIFACT_FOLDER": "where it is kept",
    "MINIDYNAMO_COMPILE_IN_BACKGROUND": "1 compiles in other processes, while graphs run uncompiled",
    "MINIDYNAMO_SKIP": "modules, files and patterns that are not captured",
    "MINIDYNAMO_VERIFY": "1 compares each call of a compiled graph with its operators",
    "MINIDYNAMO_REPRO": "a folder for graphs whose backend raises, as files that can be run",
    "MINIDYNAMO_STRESS": "for tests: 1 captures every frame",
    "MINIDYNAMO_STRESS_BREAKS": "for tests: a graph break before every n-th instruction",
    "MINIDYNAMO_STRESS_SEED": "for tests: other places for these",
    "MINIDYNAMO_MIRROR": "for tests: fast guards are checked against slow ones",
}
"""What the package reads, and what for."""

OF_DEVELOPERS = frozenset(
    {
        "MINIDYNAMO_EXAMPLES",
        "MINIDYNAMO_FULL",
        "MINIDYNAMO_GUARD_ROUNDS",
        "MINIDYNAMO_MUTATION_SHARE",
        "MINIDYNAMO_PYTHON",
        "MINIDYNAMO_TENSOR_MODULE",
        "MINIDYNAMO_TEST_STATE",
        "MINIDYNAMO_TORCH",
        "MINIDYNAMO_VENV",
        "MINIDYNAMO_WHEEL_TAG",
        "MINIDYNAMO_WERROR",
    }
)
"""What the repository's scripts and tests read."""


def seen() -> dict[str, str]:
    """The variables of the environment that are ours, or look so."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith("MINIDYNAMO")}


def nearest(word: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """ " (did you mean ...?)", or nothing where no known word is near."""
    found = difflib.get_close_matches(word, tuple(known), 1)
    return f" (did you mean {found[0]}?)" if found else ""


def warn_of_unknown() -> None:
    """Names each variable that looks like ours and is not, with the nearest that is."""
    # By what comes after the common beginning, which would make everything near to everything.
    endings = {name.removeprefix("MINIDYNAMO").strip("_"): name for name in VARIABLES}
    for name in seen():
        if name in VARIABLES or name in OF_DEVELOPERS:
            continue
        near = difflib.get_close_matches(name.removeprefix("MINIDYNAMO").strip("_"), endings, 1)
        guess = f" (did you mean {endings[near[0]]}?)" if near else f"; known are {', '.join(VARIABLES)}"
        warn(f"the environment variable {name} is unknown and ignored by minidynamo{guess}")


def read(name: str, parse: Callable[[str], Value], default: Value) -> Value:
    """The value of a variable, or `default` where it is unset, empty or wrong.

    Args:
        parse: raises TypeError or ValueError for a wrong text, with a message that goes on after the variable's name.
    """
    text = os.environ.get(name, "")
    if not text:
        return default
    try:
        return parse(text)
    except (TypeError, ValueError) as error:
        warn(f"{name}={text} is ignored, and {default!r} used: it {error}")
        return default


def read_list(name: str, parse: Callable[[list[str]], Value]) -> Value:
    """The valid items of a variable that is a comma separated list. Each wrong one is named in a warning.

    Args:
        parse: takes any number of items; raises TypeError or ValueError for a wrong one.
    """
    right = []
    for item in filter(None, map(str.strip, os.environ.get(name, "").split(","))):
        try:
            parse([item])
        except (TypeError, ValueError) as error:
            warn(f"{name}: {item!r} is ignored, the rest is used: it {error}")
        else:
            right.append(item)
    return parse(right)
