"""Who hears of what a program logs. Traced, so that guards hold for what it looks at (csrc/library/announcements.cpp)."""

import logging
from typing import Any


def listeners(logger: logging.Logger) -> list[Any]:
    """The logger, its handlers and those of its parents that hear of its records, with their filters, formatters, streams."""
    found: list[Any] = [logger, *logger.filters]
    current: logging.Logger | None = logger
    while current:
        for handler in current.handlers:
            found += [handler, *handler.filters, handler.formatter, getattr(handler, "stream", None)]
        if not current.propagate:
            break
        current = current.parent
    return found
