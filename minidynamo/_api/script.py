"""Runs a program of the user's as `python script.py` would, for the commands that look at what it captures."""

import os
import runpy
import sys
from collections.abc import Sequence

from minidynamo._api import global_capture


def run_script(script: str, arguments: Sequence[str], backend: str | None) -> int:
    """Runs the program to its end.

    Args:
        script: a file, or a folder with a `__main__.py`.
        arguments: its arguments.
        backend: captures the whole program for this backend; None captures what the program asks for.

    Returns:
        The exit status that the program asks for; 1, with the traceback on stderr, where it raises.

    Raises FileNotFoundError where there is no such file.
    """
    if not os.path.exists(script):
        raise FileNotFoundError(f"there is no file {script}")
    sys.argv = [script, *arguments]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    if backend is not None:
        global_capture.start(backend)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException as error:
        if not isinstance(error, Exception):  # KeyboardInterrupt: it is the command that is to end
            raise
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    finally:
        if backend is not None:
            global_capture.stop()
    return 0
