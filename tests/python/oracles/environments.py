"""The environment of processes that tests start."""

import os
import pathlib
import re
import subprocess
import sys

ORACLES = pathlib.Path(__file__).parent

TORCH_SAYS = re.compile(r"^.*torch/utils/flop_counter.py:\d+\] (\[\d+/\d+\] )?triton not found;.*\n", re.MULTILINE)


def said_of_the_program(stderr: str) -> str:
    """Without what torch says of its CUDA build where that has no triton (scripts/cuda_environment)."""
    return TORCH_SAYS.sub("", stderr)


def without_settings() -> dict[str, str]:
    """Without variables of minidynamo's, but with this run's folder for artifacts."""
    kept = "MINIDYNAMO_ARTIFACT_FOLDER"
    return {name: value for name, value in os.environ.items() if not name.startswith("MINIDYNAMO") or name == kept}


def run_python(code: str, *options: str, arguments: tuple[str, ...] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, with these options of the interpreter, arguments and further environment variables."""
    return subprocess.run(
        [sys.executable, "-P", *options, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=without_settings() | environment,
        timeout=300,
    )
