"""The main function of a process of the pool: compiles the graphs that it receives, and writes artifacts of them."""

import os
import pickle
import queue
import sys
import threading
from typing import IO


def main() -> None:
    """Answers each message on standard input with one on standard output, and ends with the program that has started it.

    A message is a graph (`parcel.packed`). The answer is a text, empty if the graph is compiled,
    and whether it tells an error of the compiler: what else it tells is why the graph has to be compiled in the program's own process.
    """
    os.nice(5)  # the program's own threads come first
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the compiler's output is no answer
    messages: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(sys.stdin.buffer, messages), daemon=True).start()

    from minidynamo._background import pool

    while True:
        pool.write(answers, pickle.dumps(_compiled(messages.get())))


def _compiled(content: bytes) -> "tuple[bool, str]":
    from minidynamo._background import parcel
    from minidynamo.backends._inductor import compile_with_inductor

    try:
        with parcel.unpacked(content) as (graph_module, example_inputs, options):
            compile_with_inductor(graph_module, example_inputs, options, with_backward=True)
    except Exception as error:
        return not isinstance(error, parcel.CannotBeSent), f"{type(error).__name__}: {error}"
    return False, ""


def _receive(stream: IO[bytes], messages: "queue.SimpleQueue[bytes]") -> None:
    from minidynamo._background import pool

    try:
        while True:
            messages.put(pool.read(stream))
    except (EOFError, OSError):
        os._exit(0)  # in the middle of a compile, which no process waits for any more
