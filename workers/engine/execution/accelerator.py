"""Accelerators: what is there, what names them, and whether one can still compute.

An error of CUDA is sticky: after an illegal access or an assertion on the device every later call of the process fails
too, whatever it computes. Only another process gets a working device. Too little memory is no such error.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

ERRORS = ("cuda error", "cudnn error", "cublas_status_", "hip error", "acceleratorerror")
"""As torch's texts have them: what a client raised reaches the server as text."""
MEMORY = ("out of memory", "alloc_failed", "outofmemoryerror")


def device_types() -> list[str]:
    """Those that this machine can compute on."""
    accelerators = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    return ["cpu", *(name for name, available in accelerators.items() if available)]


def device_type(name: str) -> str:
    """`cuda` of `cuda:1`."""
    return name.partition(":")[0]


def is_accelerator_error(error: BaseException) -> bool:
    """Whether it, or what caused it, is an accelerator's failure; want of memory is not."""
    chain = list(causes(error))
    if any(isinstance(each, torch.OutOfMemoryError | MemoryError) for each in chain):
        return False
    texts = [f"{type(each).__name__}: {each}".lower() for each in chain]
    if any(word in text for text in texts for word in MEMORY):
        return False
    return any(word in text for text in texts for word in ERRORS)


def causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def accelerator_problem(name: str) -> str | None:
    """Why this process cannot compute on the device; None where it can, as always on a CPU."""
    if device_type(name) in ("cpu", "auto"):
        return None
    try:
        if float((torch.ones(2, device=name) * 2).sum()) == 4:  # reading the result waits for the device
            return None
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        return str(error).splitlines()[0]
    return "It computed 4 wrongly."
