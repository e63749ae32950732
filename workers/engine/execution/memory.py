"""Memory: how many clients make a stack, and freed memory that stays with the process.

All budgets are fixed for a type of device, whatever memory is free or built in: the size of a stack moves last bits.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache

import torch
from torch import nn

from workers.engine.training.network import is_convolutional
from workers.engine.training.trainer import Trainer

STACK_BYTES = 2**30
"""What parameters, gradients and optimizer state of one stack may take, roughly."""
CPU_ACTIVATION_BYTES, GPU_ACTIVATION_BYTES = 48 * 2**20, 2**31
"""What activations may take: on a CPU a stack that leaves the cache is slower than several that stay in it."""
HEAVY = 5_000_000
"""Multiplications in one step of a stack of linear layers: with fewer, a further stack costs more than it saves."""
MOST_STACKS, CONVOLUTIONAL_STACKS = 4, 2
"""For several threads to share. A thread that is alone pays for each: four of a small CNN took 40 % longer than one."""
MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1
LARGEST_THRESHOLD = 32 * 2**20
RETAINED_BYTES = 256 * 2**20


@cache
def keep_freed_memory() -> None:
    """Asks glibc not to give every freed tensor back to the system: getting it again costs more than small steps."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            libc.mallopt(MMAP_THRESHOLD, LARGEST_THRESHOLD)
            libc.mallopt(TRIM_THRESHOLD, RETAINED_BYTES)


def largest_stack(trainer: Trainer) -> int:
    """Clients in one stack. Depends on the spec only, so that a run repeats to the bit."""
    x, module = trainer.samples.x, trainer.network.module
    values = sum(param.numel() for param in module.parameters())
    params = STACK_BYTES // (values * x.element_size() * (4 + 2 * len(trainer.optimizer.slots)))
    budget = CPU_ACTIVATION_BYTES if x.device.type == "cpu" else GPU_ACTIVATION_BYTES
    per_client = 2 * count_activations(trainer) * trainer.spec.local.batch_size * x.element_size()
    return max(1, min(params, budget // max(1, per_client)) if is_convolutional(module) else params)


def stack_count(trainer: Trainer, clients: int) -> int:
    """Into how many stacks so many clients are cut at least, however many threads there are to compute them."""
    module = trainer.network.module
    if trainer.samples.x.device.type != "cpu":
        return 1
    if is_convolutional(module):
        return CONVOLUTIONAL_STACKS
    values = sum(param.numel() for param in module.parameters())
    return min(MOST_STACKS, max(1, values * trainer.spec.local.batch_size * clients // HEAVY))


def count_activations(trainer: Trainer) -> int:
    """Values that one sample leaves behind in a forward pass."""
    module, total = trainer.network.copy().module.eval(), 0

    def count(_: nn.Module, __: object, output: torch.Tensor) -> None:
        nonlocal total
        total += output.numel()

    for each in module.modules():
        if not list(each.children()):
            each.register_forward_hook(count)
    with torch.no_grad():
        module(trainer.samples.x[:1])
    return total
