"""Global capture: every frame of the process is looked at, not only those of wrapped functions.

Under `config.stress` it begins by itself, with the `eager` backend, and takes every frame.
"""

import atexit
import gc
import multiprocessing
import threading

import torch

from minidynamo import _C, config
from minidynamo._api import switched_off
from minidynamo._capture.capture_config import CaptureConfig, capture_config
from minidynamo._records.user_warnings import warn

_active: CaptureConfig | None = None
_started_by_stress = False
_has_frozen = False
_FROZEN_BY_CPYTHON = 1000  # objects at most: 3.12's collector freezes some 400 that are immortal; a program that freezes, tens of thousands
_stops_at_shutdown = False


def start(backend: str) -> None:
    """Captures all frames from now on. The configuration lives until `stop`.

    Does nothing where the environment switches captures off. Raises InvalidBackend for an unknown name.
    """
    global _active
    if switched_off.is_switched_off():
        return
    settings = capture_config("eager" if config.stress else backend)
    if config.stress:
        _import_everything(settings)
        _freeze()
    _C.start_global_capture(settings)
    _active = settings
    _stop_at_shutdown()


def start_for_program(backend: str | None) -> None:
    """Captures all frames of a program whose environment asks for it.

    Without a backend it takes `eager`, and a warning says so: a compiler would need seconds or minutes that the user did not request.
    Workers that `multiprocessing` starts do not repeat the warning.
    """
    start(backend or "eager")
    if _active and not backend and not _is_worker():
        warn("minidynamo captures this program with the backend eager, which compiles nothing; MINIDYNAMO_BACKEND=inductor compiles")


def _is_worker() -> bool:
    """True if `multiprocessing` started this process: it has a parent, or still imports the parent's main module."""
    return bool(multiprocessing.parent_process() or getattr(multiprocessing.current_process(), "_inheriting", False))


def stop() -> None:
    """Frames run as they are again; what is cached stays."""
    global _active
    _C.stop_global_capture()
    _active = None
    _unfreeze()


def _stop_at_shutdown() -> None:
    """Handlers of `atexit` run as they are: backends that compile at that time may not start what they need."""
    global _stops_at_shutdown
    if _stops_at_shutdown or config.stress:
        return
    threading._register_atexit(_C.stop_global_capture)  # type: ignore[attr-defined]  # before all of them
    _stops_at_shutdown = True


def active_backend() -> str | None:
    """The backend for which the whole program is captured, if it is."""
    return _active.backend_name if _active else None


def _import_everything(settings: CaptureConfig) -> None:
    """Makes a capture import what it needs now: the frames to come are also those of the import system, which cannot do one import
    in the middle of another's bookkeeping."""
    import minidynamo._records.breaks  # noqa: F401

    _C.OptimizedFunction(lambda x: x.sin(), settings)(torch.zeros(1))


def _freeze() -> None:
    """A program that collects often, as tests do, need not walk over all of torch. What the program froze itself stays as it is.
    At exit all is as it was, so that what a module holds ends with the module."""
    global _has_frozen
    if gc.get_freeze_count() > _FROZEN_BY_CPYTHON:
        return
    gc.collect()
    gc.freeze()
    atexit.register(_unfreeze)
    _has_frozen = True


def _unfreeze() -> None:
    global _has_frozen
    if _has_frozen:
        gc.unfreeze()
    _has_frozen = False


def _follow_stress() -> None:
    global _started_by_stress
    _C.set_stress(config.stress, config.stress_breaks if config.stress else 0, config.stress_seed)
    if config.stress and _active is None:
        start("eager")
        _started_by_stress = _active is not None
    elif not config.stress and _started_by_stress:
        stop()
        _started_by_stress = False


for _name in ("stress", "stress_breaks", "stress_seed"):
    config.when_changed(_name, _follow_stress)
