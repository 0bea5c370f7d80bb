"""The objects that take part when a program logs. Traced, so that guards hold for what it looks at (csrc/library/announcements.cpp)."""

import logging
from typing import Any


def listeners(logger: logging.Logger) -> list[Any] | None:
    """The objects and functions that a record of this logger comes by: the logger, the record factory, the logger's handlers and those of
    its parents with their filters, formatters and streams, and each handler's methods. None if there is no handler at all, of which the
    logging module warns once."""
    found: list[Any] = [logger, logging.getLogRecordFactory(), *logger.filters]
    handlers: list[logging.Handler] = []
    current: logging.Logger | None = logger
    while current:
        handlers += current.handlers
        if not current.propagate:
            break
        current = current.parent
    if not handlers:
        if logging.lastResort is None:
            return None
        handlers.append(logging.lastResort)
    for handler in handlers:
        found += [handler, *handler.filters, handler.formatter, getattr(handler, "stream", None)]
        found += [handler.emit, handler.handle, handler.filter, handler.format, handler.handleError]
    return found
