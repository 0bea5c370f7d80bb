"""Keeps code objects alive, for tests in which memory ends.

CPython 3.12 and 3.13 let go twice of a function's code where there is no memory for the function, so that it is freed while the code
around it still holds it.
"""

import ctypes
import gc
import types

MUCH = 1_000_000


def keep(code: types.CodeType) -> None:
    """Holds the code of the functions that this code makes, and that of theirs, for good."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            ctypes.c_ssize_t.from_address(id(constant)).value += MUCH  # the reference count
            keep(constant)


def keep_all() -> None:
    """Keeps the code of all functions that there are now."""
    for function in gc.get_objects():
        if type(function) is types.FunctionType:
            keep(function.__code__)
