"""Log records of captures: one logger per topic below `minidynamo`, written to stderr unless the program set handlers.

A topic that is not in `config.logs` costs one set lookup. Texts are made by the caller only for topics that are on.
"""

import logging

from minidynamo import config

_root = logging.getLogger("minidynamo")
_FORMAT = "[minidynamo.%(topic)s] %(message)s"


class _TopicFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        record.topic = record.name.rpartition(".")[2]
        return super().format(record)


def enabled(topic: str) -> bool:
    return topic in config.logs


def emit(topic: str, text: str) -> None:
    """Writes one record, if `topic` is on."""
    if not enabled(topic):
        return
    _ensure_handler()
    logging.getLogger(f"minidynamo.{topic}").log(logging.DEBUG, text)


def warn(text: str) -> None:
    """Something that a user should know whatever topics are on."""
    _root.warning(text)


def _ensure_handler() -> None:
    # Asking for a topic is asking to see it, also in a program that never configured logging.
    _root.setLevel(logging.DEBUG)
    if not _root.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(_TopicFormatter(_FORMAT))
        _root.addHandler(handler)
