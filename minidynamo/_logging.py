"""Log records of captures: one logger per topic below `minidynamo`, written to stderr unless the program set handlers.

A topic that is not in `config.logs` costs one set lookup. Texts are made by the caller only for topics that are on.
"""

import logging

from minidynamo import config
from minidynamo._warning import warn as warn

_root = logging.getLogger("minidynamo")
_FORMAT = "[%(name)s] %(message)s"


def enabled(topic: str) -> bool:
    return topic in config.logs


def emit(topic: str, text: str) -> None:
    """Writes one record, if `topic` is on."""
    if not enabled(topic):
        return
    _ensure_handler()
    logging.getLogger(f"minidynamo.{topic}").log(logging.DEBUG, text)


def _ensure_handler() -> None:
    # Asking for a topic is asking to see it, also in a program that never configured logging.
    _root.setLevel(logging.DEBUG)
    if not _root.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(_FORMAT))
        _root.addHandler(handler)
