"""Detects that the environment switches captures off, as it does torch.compile.

torch reads TORCH_COMPILE_DISABLE when the first function is compiled, and TORCHDYNAMO_DISABLE whenever one is; a program may set them
after its imports.
"""

import functools
import os

from minidynamo import config


def is_switched_off() -> bool:
    """True if functions are returned as they are, and a whole program is not captured."""
    return config.disabled or _compile_disable() or os.environ.get("TORCHDYNAMO_DISABLE", "") == "1"


@functools.cache
def _compile_disable() -> bool:
    return os.environ.get("TORCH_COMPILE_DISABLE", "") == "1"
