"""Keeps what a compiler does to the process out of the program's sight."""

import contextlib
import random
from collections.abc import Iterator

import torch

from minidynamo import _C


def _cuda_in_use() -> bool:
    return bool(torch.cuda.is_initialized())  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Keeps a backend's work out of the program's sight: random generators, grad mode and determinism are put back.

    Generators belong to the whole process. What another thread of the program has drawn from one, or how it has seeded it, stays: put
    back, the generator would give the same numbers twice.
    """
    python_random = random.getstate()
    cpu_random = torch.get_rng_state()
    cuda_random = torch.cuda.get_rng_state() if _cuda_in_use() else None
    grad = torch.is_grad_enabled()
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    watch = _C.watch_random()
    try:
        yield
    finally:
        was_alone, others_ran, others_drew, drew = _C.end_random_watch(watch)
        is_own = was_alone or not others_ran
        if is_own:
            random.setstate(python_random)
        if is_own or (drew and not others_drew):
            torch.set_rng_state(cpu_random)
            if cuda_random is not None:
                torch.cuda.set_rng_state(cuda_random)
        torch.set_grad_enabled(grad)
        if (deterministic, warn_only) != (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ):
            torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
