"""Refuses, in one sentence, an interpreter or a torch that the native extension was not made for.

Stands apart from the rest so that it runs before anything that could fail less clearly, and so that it can be tested
with invented versions.
"""

import importlib
import platform
import sys
from collections.abc import Sequence

PYTHONS = ((3, 11), (3, 12), (3, 13), (3, 14))
TORCHES = ("2.13", "2.14", "2.15")


def minor(version: str) -> str:
    """The first two numbers of a version of torch: what is inlined from its headers, and so what an extension works with, changes
    with them alone."""
    return ".".join(version.split("+")[0].split(".")[:2])


def supported() -> str:
    """The table of the README in one line."""
    pythons = ", ".join(f"{major}.{minor}" for major, minor in PYTHONS)
    return f"Supported are CPython {pythons} with torch {', '.join(TORCHES)}, on Linux."


def one_of(versions: Sequence[str]) -> str:
    *earlier, newest = versions
    return f"{', '.join(earlier)} or {newest}" if earlier else newest


def unmet(implementation: str, python: tuple[int, int], torch: str | None = None, built_for: str | None = None) -> str | None:
    """The sentence that says what is missing, or None when everything is as it must be.

    Args:
        implementation, python: what `interpreter` returns.
        torch: `torch.__version__`, or None when torch is not asked about yet.
        built_for: the version of torch that the extension was built for; None where there is none yet.
    """
    if implementation != "CPython" or python not in PYTHONS:
        wanted = one_of([f"{major}.{minor}" for major, minor in PYTHONS])
        return f"minidynamo needs CPython {wanted}, and this is {implementation} {python[0]}.{python[1]}."
    if torch is not None and minor(torch) not in TORCHES:
        return f"minidynamo needs torch {one_of(TORCHES)}, and torch {torch} is installed."
    if torch is not None and built_for is not None and minor(torch) != minor(built_for):
        return f"minidynamo was built for torch {minor(built_for)}, and torch {torch} is installed: install minidynamo anew."
    return None


def interpreter() -> tuple[str, tuple[int, int]]:
    """The implementation of this interpreter, e.g. "CPython", and its major and minor version. A build without the GIL, whose objects have
    another layout, is "free-threaded CPython"."""
    build = "free-threaded " if "t" in getattr(sys, "abiflags", "") else ""  # Windows may have none
    return build + platform.python_implementation(), (sys.version_info[0], sys.version_info[1])


def is_subinterpreter() -> bool:
    """True if this interpreter is not the first of its process. The import of torch reads freed memory then."""
    try:
        interpreters = importlib.import_module("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    except ImportError:  # a Python that was built without them
        return False
    return bool(interpreters.get_current() != interpreters.get_main())


def check(torch: str | None = None, built_for: str | None = None) -> None:
    """Raises ImportError with that sentence, if there is one."""
    sentence = unmet(*interpreter(), torch, built_for)
    if sentence is None and is_subinterpreter():
        sentence = "minidynamo needs the main interpreter of the process, as torch does, and this is a subinterpreter."
    if sentence is not None:
        raise ImportError(sentence)
