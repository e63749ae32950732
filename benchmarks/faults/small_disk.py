"""A disk that can be filled up: as root a small file system of its own, otherwise a limit on what a process writes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

import psutil

from benchmarks.faults.lab import Lab
from workers.home import home

SIZE_MB = 128
PAGE = bytes(4096)


class Disk(Protocol):
    def full(self, worker: str) -> AbstractContextManager[None]: ...


class SmallFileSystem:
    """Every write of whatever run fails with ENOSPC while it is full."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def full(self, worker: str) -> Iterator[None]:
        filler = self.folder / "filler"
        try:
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                while file.write(PAGE):
                    pass
            yield
        finally:
            filler.unlink()


class FileLimit:
    """Every file that the run's process writes stays empty: the kernel refuses the first byte."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    @contextmanager
    def full(self, worker: str) -> Iterator[None]:
        runner = psutil.Process(self.lab.runner_pid(worker))
        before = runner.rlimit(psutil.RLIMIT_FSIZE)
        runner.rlimit(psutil.RLIMIT_FSIZE, (0, before[1]))
        try:
            yield
        finally:
            runner.rlimit(psutil.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(lab: Lab) -> Iterator[Disk]:
    """For the files of runs that begin meanwhile, gone afterwards."""
    folder = home() / "runs"
    folder.mkdir(exist_ok=True)
    mounted = os.geteuid() == 0 and run_command("mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder))
    try:
        yield SmallFileSystem(folder) if mounted else FileLimit(lab)
    finally:
        if mounted:
            run_command("umount", "--lazy", str(folder))


def run_command(*arguments: str) -> bool:
    return subprocess.run(arguments, capture_output=True, check=False).returncode == 0
