"""Who is timed on what, with which settings: each contender is shown with the best of its settings."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from benchmarks.publish import ROOT

PFL_ENVIRONMENT = ROOT / "benchmarks" / ".env-pfl"
PFL_PACKAGES = ["pfl==0.6.0", "torch==2.13.0"]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]


@dataclass(frozen=True)
class Setting:
    processes: int = 1
    threads: int = 1

    def __str__(self) -> str:
        return f"{count_text(self.processes, 'process')}, {count_text(self.threads, 'thread')}"


@dataclass(frozen=True)
class Contest:
    """One contender on one shape; `floor` is how many times faster Tributary must be."""

    shape: str
    contender: str
    rounds: int
    settings: tuple[Setting, ...]
    floor: float | None = None


ONE, TWO_THREADS, TWO_PROCESSES = Setting(), Setting(threads=2), Setting(processes=2)
CONTESTS = (
    Contest("logistic", "tributary", 200, (ONE, TWO_THREADS)),
    Contest("logistic", "flower-ray", 30, (TWO_PROCESSES, TWO_THREADS), floor=20),
    Contest("logistic", "pfl", 200, (ONE, TWO_THREADS, TWO_PROCESSES), floor=2),
    Contest("cnn", "tributary", 8, (ONE, TWO_THREADS)),
    Contest("cnn", "flower-ray", 8, (TWO_PROCESSES,), floor=3),
    Contest("cnn", "pfl", 8, (TWO_PROCESSES,), floor=1.5),
    Contest("har", "tributary", 24, (ONE, TWO_THREADS)),
    Contest("har", "plain-loop", 16, (ONE, TWO_THREADS), floor=8),
    Contest("memory", "tributary", 2, (TWO_THREADS,)),
)
PASSES = {"logistic": 2, "cnn": 2, "har": 3, "memory": 1}
"""How often the contenders of a federation take turns."""
CONTENDER_NAMES = {
    "tributary": "Tributary",
    "flower-ray": "Flower, Ray backend",
    "pfl": "pfl",
    "plain-loop": "plain PyTorch loop",
}
CONTENDER_MODULES = {
    "tributary": "tributary",
    "flower-ray": "flower_ray",
    "pfl": "pfl_simulation",
    "plain-loop": "plain_loop",
}


def contender_command(contest: Contest, setting: Setting, rounds: int, out: Path) -> list[str]:
    module = ["-m", f"benchmarks.engine.contenders.{CONTENDER_MODULES[contest.contender]}", contest.shape]
    options = ["--rounds", rounds, "--threads", setting.threads, "--processes", setting.processes, "--out", out]
    launcher = [*TORCHRUN, setting.processes] if contest.contender == "pfl" and setting.processes > 1 else []
    return [str(part) for part in (contender_python(contest.contender), *launcher, *module, *options)]


def contender_python(contender: str) -> Path | str:
    return PFL_ENVIRONMENT / "bin" / "python" if contender == "pfl" else sys.executable


def contender_environment(setting: Setting) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(setting.threads)}


def ensure_pfl() -> None:
    """pfl wants an environment of its own; made once, in benchmarks/."""
    if not (PFL_ENVIRONMENT / "bin" / "python").exists():
        venv.create(PFL_ENVIRONMENT, with_pip=True)
    if subprocess.run([PFL_ENVIRONMENT / "bin" / "python", "-c", "import pfl"], capture_output=True).returncode:
        subprocess.run([PFL_ENVIRONMENT / "bin" / "pip", "install", "--quiet", *PFL_PACKAGES], check=True)


def count_text(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"
