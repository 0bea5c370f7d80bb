"""Warnings that a user should see whatever is logged: reached limits, wrong environment variables, functions that run uncaptured.

Logged as WARNING by the logger `minidynamo`, so it is seen on stderr unless the program says otherwise. Not `warnings.warn`: a
program must run captured as it runs without, and it can see (`warnings.catch_warnings`) and turn into exceptions (`-W error`)
a warning in the middle of one of its calls.
"""

import logging

_logger = logging.getLogger("minidynamo")


def warn(text: str, *, capture: str = "") -> None:
    """Logs one warning. Its first words say who speaks: without handlers, logging prints the text alone.

    Args:
        capture: the id of the capture that it is about, an attribute of the record.
    """
    _logger.warning("%s", text, extra={"capture": capture})
