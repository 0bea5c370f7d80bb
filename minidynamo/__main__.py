"""`python -m minidynamo`: versions, whose frame hook is installed, settings, and what the environment says. For bug reports."""

import os
import platform
import sys

import torch

from minidynamo import _C, __version__, _environment, _global_capture, config, list_backends


def report() -> str:
    """The lines that are printed. Settings that are not as after an import without environment are marked by a star."""
    whole_program = _global_capture.active_backend()
    lines = [
        f"minidynamo {__version__} in {os.path.dirname(__file__)}",
        f"torch {torch.__version__}, built for {_C.BUILT_FOR_TORCH}",
        f"{platform.python_implementation()} {platform.python_version()} in {sys.executable}, {platform.platform()}",
        f"frames are evaluated by {_C.hook_owner()}; "
        + (f"the whole program is captured, for {whole_program}" if whole_program else "nothing is captured unasked"),
        f"backends: {', '.join(list_backends())}",
        "settings:",
    ]
    for name, value in config.to_dict().items():
        default = config.DEFAULTS[name]
        lines.append(f"  {name} = {_plain(value)}" + ("" if value == default else f"  * default: {_plain(default)}"))
    lines.append("environment:")
    found = _environment.seen()
    lines += [
        f"  {name}={value}  ({_environment.VARIABLES.get(name, 'not read by the package')})" for name, value in found.items()
    ] or ["  no variable of minidynamo's"]
    return "\n".join(lines)


def _plain(value: object) -> str:
    """Collections as the comma separated text that the setting takes."""
    if isinstance(value, (frozenset, tuple)):
        return ",".join(sorted(map(str, value))) or "none"
    return repr(value)


if __name__ == "__main__":
    print(report())
