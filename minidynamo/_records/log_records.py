"""Log records of captures: one logger per topic below `minidynamo`, written to stderr unless the program set handlers.

Each record that belongs to a capture begins with the id of the capture in brackets, `[3/1]`, and has it as the attribute `capture`. A
topic that is not in `config.logs` costs one set lookup. Texts are made by the caller only for topics that are on.
"""

import logging

from minidynamo import _C, config
from minidynamo._records import user_warnings

_root = logging.getLogger("minidynamo")
_FORMAT = "[%(name)s] %(message)s"


def enabled(topic: str) -> bool:
    return topic in config.logs


def emit(topic: str, text: str) -> None:
    """Writes one record, if `topic` is on: as INFO for topics that say what happened, as DEBUG for those that print what was made."""
    if not enabled(topic):
        return
    _ensure_handler()
    capture = _C.open_capture_id()
    level = logging.INFO if topic in config.LOG_LEVELS["info"] else logging.DEBUG
    logging.getLogger(f"minidynamo.{topic}").log(level, "%s", _with_id(text, capture), extra={"capture": capture})


def warn(text: str, capture: str = "") -> None:
    """Logs one warning, whatever topics are on.

    Args:
        capture: the id of the capture or function that it is about; the capture that is open on this thread unless given.
    """
    capture = capture or _C.open_capture_id()
    user_warnings.warn(_with_id(text, capture), capture=capture)


def _with_id(text: str, capture: str) -> str:
    return f"[{capture}] {text}" if capture else text


def _ensure_handler() -> None:
    # Asking for a topic is asking to see it, also in a program that never configured logging.
    _root.setLevel(logging.DEBUG)
    if not _root.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(_FORMAT))
        _root.addHandler(handler)
