"""Threads: a run spreads clients and batches over them, and gives each operation one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from threadpoolctl import threadpool_limits

TORCH_THREADS = torch.get_num_threads()
"""As it was before a run."""


def thread_count() -> int:
    """TRIBUTARY_THREADS, or as many as torch uses by itself."""
    return int(os.environ.get("TRIBUTARY_THREADS") or TORCH_THREADS)


def stream_count(device: torch.device) -> int:
    """How many parts of a cohort are computed at once: on a CPU one for each thread, on an accelerator one alone.

    Threads would take turns on its one stream of work, and each would hold a stack in its memory.
    """
    return thread_count() if device.type == "cpu" else 1


@contextmanager
def one_computing_thread() -> Iterator[None]:
    """Sums are cut by the threads of an operation, and that moves their last bits: in a run every operation has one."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)
