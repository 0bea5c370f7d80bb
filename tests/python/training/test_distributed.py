"""torch.distributed in captured code: processes that talk to each other say and hear what they do uncaptured (distributed_programs.py)."""

import json
import os
import pathlib
import socket
import subprocess
import sys
from typing import Any

import distributed_programs
import pytest

PROGRAMS = pathlib.Path(distributed_programs.__file__)


def run(processes: int, what: str) -> dict[str, Any]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(processes)),
            *("--master-addr", "127.0.0.1", "--master-port", str(port), PROGRAMS, what),
        ],
        capture_output=True,
        text=True,
        timeout=500,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {line["program"]: line["ranks"] for line in lines}


def test_collectives() -> None:
    results = run(2, "collectives")
    assert len(results) == 2 * (len(distributed_programs.WHOLE) + len(distributed_programs.BROKEN))
    assert [name for name, ranks in results.items() if not all(rank["same"] for rank in ranks)] == []
    whole = {function.__name__ for function in distributed_programs.WHOLE}
    split = [name for name, ranks in results.items() if name.split()[0] in whole and any(rank["breaks"] for rank in ranks)]
    assert split == []
    assert all(rank["breaks"] for name, ranks in results.items() if name.split()[0] not in whole for rank in ranks)


@pytest.mark.parametrize("processes", [2, 4])
def test_training(processes: int) -> None:
    results = run(processes, "training")
    assert len(results) == 8
    assert [name for name, ranks in results.items() if not all(rank["same"] and rank["graphs"] for rank in ranks)] == []
