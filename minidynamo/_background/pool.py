"""The processes that compile, and the threads that talk to them.

Each process has a thread here, which sends it a job and waits for the answer. Both are started when there is something to do, and end
when there has been nothing for a while: a process that has imported the compiler takes some hundred megabytes. They end with the program.
"""

import atexit
import collections
import contextlib
import os
import pickle
import subprocess
import sys
import threading
import time
from typing import IO

_MOST_PROCESSES = max(1, min(4, (os.cpu_count() or 1) // 2))
_IDLE_SECONDS = 60.0
_SECONDS_AT_EXIT = 1.0
_HEADER_BYTES = 8


class Job:
    """A graph to be compiled.

    Attributes:
        is_done: the process has answered, or will not answer any more.
        error: why it cannot be compiled; empty if nothing is known against it.
        hindrance: why it has to be compiled in the program's own process; empty if it has not.
        environment: of the process that is to compile it. Most variables are read when the compiler is imported.
    """

    __slots__ = ("content", "environment", "error", "hindrance", "is_done", "name")

    def __init__(self, name: str, content: bytes) -> None:
        self.name = name
        self.content = content
        self.is_done = False
        self.error = ""
        self.hindrance = ""
        self.environment = _environment()


class Pool:
    """Jobs, threads and processes. `Pool.current` is the one of this process."""

    current: "Pool"

    def __init__(self) -> None:
        self.processes: set[subprocess.Popen[bytes]] = set()
        self._changed = threading.Condition()
        self._jobs: dict[str, Job] = {}  # by name, those that are not done
        self._waiting: collections.deque[Job] = collections.deque()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._is_over = False

    def submit(self, name: str, content: bytes) -> Job:
        """A job for these bytes (`parcel.packed`), or the one that is at work on a graph of the same name."""
        with self._changed:
            if (job := self._jobs.get(name)) is not None:
                return job
            job = self._jobs[name] = Job(name, content)
            if self._is_over:
                self._finish(job, "the program is ending")
                return job
            self._waiting.append(job)
            if self._idle < len(self._waiting) and len(self._threads) < _MOST_PROCESSES:
                thread = threading.Thread(target=self._serve, name="minidynamo-compiler", daemon=True)
                self._threads.add(thread)
                thread.start()
            self._changed.notify_all()
        return job

    def wait(self, timeout: float | None) -> bool:
        """Waits until there are no jobs, at most `timeout` seconds. False if there still are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._jobs, timeout)

    def end(self) -> None:
        """Ends all processes and jobs. Called when the program ends."""
        with self._changed:
            self._is_over = True
            threads = list(self._threads)
            for process in self.processes:
                process.kill()
            while self._waiting:
                self._finish(self._waiting.popleft(), "the program is ending")
            self._changed.notify_all()
        deadline = time.monotonic() + _SECONDS_AT_EXIT
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _finish(self, job: Job, error: str) -> None:
        with self._changed:
            job.error = error
            job.content = b""
            job.is_done = True
            self._jobs.pop(job.name, None)
            self._changed.notify_all()

    def _serve(self) -> None:
        process: subprocess.Popen[bytes] | None = None
        environment: dict[str, str] = {}
        try:
            while (job := self._next_job()) is not None:
                try:
                    if process is None or process.poll() is not None or environment != job.environment:
                        self._let_go(process)
                        environment = job.environment
                        process = self._started(environment)
                    error = _ask(process, job)
                except Exception as failure:
                    error = f"{type(failure).__name__}: {failure}"
                self._finish(job, error)
        finally:
            self._let_go(process)

    def _next_job(self) -> Job | None:
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._waiting or self._is_over, _IDLE_SECONDS)
            self._idle -= 1
            if self._waiting and not self._is_over:
                return self._waiting.popleft()
            self._threads.discard(threading.current_thread())
            return None

    def _started(self, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
        process = start_process(environment)
        with self._changed:
            self.processes.add(process)
            if self._is_over:
                process.kill()
        return process

    def _let_go(self, process: "subprocess.Popen[bytes] | None") -> None:
        if process is None:
            return
        with self._changed:
            self.processes.discard(process)
        end_process(process)


def _environment() -> dict[str, str]:
    """This process's environment and paths, for one that nothing is to be captured in."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("MINIDYNAMO")}
    # "" is the folder that the program runs in. Python passes over what is no text.
    return variables | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if isinstance(path, str))}


def start_process(environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """A process that runs `worker.main`."""
    command = [sys.executable, "-P", "-c", "from minidynamo._background import worker; worker.main()"]
    # A session of its own: the terminal's interrupt goes to the program, which ends the process if it ends.
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True)


def end_process(process: "subprocess.Popen[bytes]") -> None:
    """Ends a process, whatever it does."""
    process.kill()
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):
            stream.close()  # type: ignore[union-attr]
    process.wait()


def _ask(process: "subprocess.Popen[bytes]", job: Job) -> str:
    assert process.stdin is not None and process.stdout is not None
    try:
        write(process.stdin, job.content)
        is_error, text = pickle.loads(read(process.stdout))
    except (EOFError, BrokenPipeError):
        return f"the process that compiles has ended with status {process.wait()}"
    if is_error:
        return str(text)
    job.hindrance = text
    return ""


def write(stream: IO[bytes], content: bytes) -> None:
    """Sends a message."""
    stream.write(len(content).to_bytes(_HEADER_BYTES, "little"))
    stream.write(content)
    stream.flush()


def read(stream: IO[bytes]) -> bytes:
    """Receives a message; EOFError if the other side has ended."""
    header = stream.read(_HEADER_BYTES)
    size = int.from_bytes(header, "little")
    content = stream.read(size)
    if len(header) < _HEADER_BYTES or len(content) < size:
        raise EOFError
    return content


def _in_forked_child() -> None:
    """Threads and processes are the parent's. What it waits for stays uncompiled here."""
    _of_parents.append(Pool.current)
    for process in Pool.current.processes:
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    os.close(stream.fileno())  # the parent's end of it stays open
    Pool.current = Pool()


_of_parents: list[Pool] = []  # no file or process of theirs is to be closed or waited for

Pool.current = Pool()
atexit.register(lambda: Pool.current.end())
os.register_at_fork(after_in_child=_in_forked_child)
