"""Which objects a photo looks into: those of the program, not those of Python, torch and other packages."""

import enum
import functools
import io
import sys
import sysconfig
import threading
import types
import weakref
from typing import Any

import torch


def is_atom(value: Any) -> bool:
    """True if an object is compared by value and never changes, or belongs to Python, torch or another library."""
    if isinstance(value, _PLAIN):
        return True
    if isinstance(value, type):
        return not is_of_program(value.__module__)
    if isinstance(value, types.ModuleType):
        return not is_of_program(value.__name__)
    if isinstance(value, types.FunctionType):
        return not is_of_program(value.__module__)
    return type(value).__module__.split(".")[0] in _LIBRARY_OBJECTS and not isinstance(value, _LIBRARY_CONTAINERS)


_PLAIN = (
    type(None),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    slice,
    enum.Enum,
    type(...),
    type(NotImplemented),
    torch.dtype,
    torch.device,
    torch.layout,
    torch.memory_format,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    types.MethodWrapperType,
    types.CodeType,
    types.GenericAlias,
    torch.SymInt,
    torch._ops.OpOverload,
    torch._ops.OpOverloadPacket,
)

# Loggers, locks, weak references, operators and the like have a state of their own, which no call is compared by.
_LIBRARY_OBJECTS = {"logging", "threading", "_thread", "weakref", "_weakref", "re", "abc", "typing", "io", "_io", "torch"}
_LIBRARY_CONTAINERS = (
    threading.local,
    weakref.WeakKeyDictionary,
    weakref.WeakValueDictionary,
    weakref.WeakSet,
    io.StringIO,
    io.BytesIO,
    torch.Tensor,
    torch.nn.Module,
    torch.Generator,
    torch.optim.Optimizer,
    tuple,
    list,
    dict,
    set,
)


@functools.cache
def is_of_program(module: str | None) -> bool:
    """True if a module is neither Python's nor installed: its functions may write to its global variables."""
    if not module:
        return False
    top = module.split(".")[0]
    if top in sys.stdlib_module_names and top != "__main__":
        return False
    return is_program_file(getattr(sys.modules.get(module), "__file__", None) or "")


def is_program_file(file: str) -> bool:
    """True if a file is neither Python's nor an installed package's."""
    return not any(file.startswith(folder) for folder in _installed())


@functools.cache
def _installed() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple({paths[name] for name in ("purelib", "platlib", "stdlib", "platstdlib")})
