"""Refuses, in one sentence, an interpreter or a torch that the native extension was not made for.

Stands apart from the rest so that it runs before anything that could fail less clearly, and so that it can be tested
with invented versions.
"""

import importlib
import platform
import sys

PYTHONS = ((3, 11), (3, 12), (3, 13))
TORCH = "2.13"


def unmet(implementation: str, python: tuple[int, int], torch_version: str | None) -> str | None:
    """The sentence that says what is missing, or None when everything is as it must be.

    Args:
        implementation: as `platform.python_implementation()` gives it, e.g. "CPython".
        python: major and minor version of the interpreter.
        torch_version: `torch.__version__`, or None when torch is not asked about yet.
    """
    if implementation != "CPython" or python not in PYTHONS:
        *earlier, newest = (f"{major}.{minor}" for major, minor in PYTHONS)
        supported = f"{', '.join(earlier)} or {newest}"
        return f"minidynamo needs CPython {supported}, and this is {implementation} {python[0]}.{python[1]}."
    if torch_version is not None and torch_version.split("+")[0].split(".")[:2] != TORCH.split("."):
        return f"minidynamo needs torch {TORCH}, and torch {torch_version} is installed."
    return None


def is_subinterpreter() -> bool:
    """Whether this interpreter is not the first of its process. The import of torch reads freed memory then."""
    try:
        interpreters = importlib.import_module("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    except ImportError:  # a Python that was built without them
        return False
    return bool(interpreters.get_current() != interpreters.get_main())


def check(torch_version: str | None = None) -> None:
    """Raises ImportError with that sentence, if there is one."""
    sentence = unmet(platform.python_implementation(), (sys.version_info[0], sys.version_info[1]), torch_version)
    if sentence is None and is_subinterpreter():
        sentence = "minidynamo needs the main interpreter of the process, as torch does, and this is a subinterpreter."
    if sentence is not None:
        raise ImportError(sentence)
