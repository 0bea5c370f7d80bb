"""Importing Inductor, without what most compiles have no use for.

Its templates of kernels for GPUs are parsed by Jinja when its modules are imported, a tenth of a cold compile on a CPU. Here each is
parsed when somebody renders it.
"""

import contextlib
import functools
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from minidynamo.backends._imports import counted_as_imports

_importing = threading.RLock()


def compile_fx_module() -> ModuleType:
    """torch._inductor.compile_fx"""
    name = "torch._inductor.compile_fx"
    if name not in sys.modules:
        with counted_as_imports(), _importing, templates_parsed_when_used():
            importlib.import_module(name)
    return sys.modules[name]


class _Template:
    """A jinja2.Template that is not parsed yet."""

    def __init__(self, parse: Callable[[], Any]) -> None:
        self._parse = parse

    @functools.cached_property
    def _parsed(self) -> Any:
        return self._parse()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._parsed, name)


@contextlib.contextmanager
def templates_parsed_when_used() -> Iterator[None]:
    """For templates that this thread makes of text meanwhile."""
    try:
        from jinja2 import Environment
    except ImportError:
        yield
        return
    from_string = Environment.from_string
    thread = threading.get_ident()

    @functools.wraps(from_string)
    def from_string_later(self: Any, *args: Any, **kwargs: Any) -> Any:
        parse = functools.partial(from_string, self, *args, **kwargs)
        return _Template(parse) if threading.get_ident() == thread else parse()

    Environment.from_string = from_string_later  # type: ignore[method-assign]
    try:
        yield
    finally:
        Environment.from_string = from_string  # type: ignore[method-assign]
