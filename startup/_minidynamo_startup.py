"""Captures a whole program that never imports minidynamo, when MINIDYNAMO=1 is in its environment.

Runs at interpreter start, from the .pth file beside it, so it stays apart from the package (importing that imports torch) and
imports nothing. It only waits: a finder at the head of sys.meta_path recognizes torch, and when the program's own import of
torch has finished, capture begins. MINIDYNAMO_BACKEND names the backend; unless it is set, it is "eager", and one line says so.
MINIDYNAMO_STRESS=1 (for tests) waits for nothing: it imports torch, and captures every frame of the program.
A program is never made to fail by this: what goes wrong is said in one line on stderr, and the program runs uncaptured.
"""

import os
import sys


def install():
    """Begins to wait for torch. Does nothing the second time, or where MINIDYNAMO says no."""
    if not is_switched_on("MINIDYNAMO"):
        return
    if "torch" in sys.modules or is_switched_on("MINIDYNAMO_STRESS"):
        begin()
    elif not any(isinstance(finder, WaitForTorch) for finder in sys.meta_path):
        sys.meta_path.insert(0, WaitForTorch())


def is_switched_on(variable):
    """Whether an environment variable says yes: anything but nothing, 0, false, no and off."""
    return os.environ.get(variable, "").strip().lower() not in ("", "0", "false", "no", "off")


def begin():
    """Starts global capture in this process."""
    try:
        from minidynamo import config
        from minidynamo._api.global_capture import start_for_program

        if is_switched_on("MINIDYNAMO_STRESS"):
            config.stress = True
        else:
            start_for_program(os.environ.get("MINIDYNAMO_BACKEND") or None)
    except Exception as error:
        print(f"minidynamo: the program runs uncaptured: {error}", file=sys.stderr)


class WaitForTorch:
    """A finder that finds nothing by itself: it asks the others for torch and puts a loader before theirs."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _ThenBegin(spec.loader, self)
                return spec
        return None


class _ThenBegin:
    """Torch's own loader, followed by the start of capture. Leaves no trace of itself on the module."""

    def __init__(self, loader, finder):
        self._loader = loader
        self._finder = finder

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        if self._finder in sys.meta_path:  # a failed import of torch leaves it there, for the next try
            sys.meta_path.remove(self._finder)
        begin()
