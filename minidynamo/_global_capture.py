"""Global capture: every frame of the process is looked at, not only those of wrapped functions."""

from minidynamo import _C
from minidynamo._capture import CaptureConfig, capture_config

_active: CaptureConfig | None = None


def start(backend: str) -> None:
    """Captures all frames from now on. The configuration lives until `stop`.

    Raises InvalidBackend for an unknown name.
    """
    global _active
    settings = capture_config(backend)
    _C.start_global_capture(settings)
    _active = settings


def stop() -> None:
    """Frames run as they are again; what is cached stays."""
    global _active
    _C.stop_global_capture()
    _active = None
