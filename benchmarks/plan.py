"""Who is timed on what, with which settings: each contender is shown with the best of its settings."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PFL_ENVIRONMENT = ROOT / "benchmarks" / ".env-pfl"
PFL_PACKAGES = ["pfl==0.6.0", "torch==2.13.0"]
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]


@dataclass(frozen=True)
class Setting:
    processes: int = 1
    threads: int = 1

    def __str__(self) -> str:
        return f"{counted(self.processes, 'process')}, {counted(self.threads, 'thread')}"


@dataclass(frozen=True)
class Contest:
    """One contender on one shape; `floor` is how many times faster Tributary must be."""

    shape: str
    contender: str
    rounds: int
    settings: tuple[Setting, ...]
    floor: float | None = None


ONE, WIDE, PAIR = Setting(), Setting(threads=2), Setting(processes=2)
CONTESTS = (
    Contest("logistic", "tributary", 200, (ONE, WIDE)),
    Contest("logistic", "flower-ray", 30, (PAIR, WIDE), floor=20),
    Contest("logistic", "pfl", 200, (ONE, WIDE, PAIR), floor=2),
    Contest("cnn", "tributary", 8, (ONE, WIDE)),
    Contest("cnn", "flower-ray", 8, (PAIR,), floor=1.7),
    Contest("cnn", "pfl", 8, (PAIR,), floor=1),
    Contest("har", "tributary", 24, (ONE, WIDE)),
    Contest("har", "plain-loop", 16, (ONE, WIDE), floor=8),
    Contest("memory", "tributary", 2, (WIDE,)),
)
PASSES = {"logistic": 2, "cnn": 2, "har": 3, "memory": 1}
"""How often the contenders of a federation take turns."""
NAMES = {
    "tributary": "Tributary",
    "flower-ray": "Flower, Ray backend",
    "pfl": "pfl",
    "plain-loop": "plain PyTorch loop",
}
MODULES = {
    "tributary": "tributary",
    "flower-ray": "flower_ray",
    "pfl": "pfl_simulation",
    "plain-loop": "plain_loop",
}


def command(contest: Contest, setting: Setting, rounds: int, out: Path) -> list[str]:
    module = ["-m", f"benchmarks.contenders.{MODULES[contest.contender]}", contest.shape]
    options = ["--rounds", rounds, "--threads", setting.threads, "--processes", setting.processes, "--out", out]
    launcher = [*TORCHRUN, setting.processes] if contest.contender == "pfl" and setting.processes > 1 else []
    return [str(part) for part in (python_of(contest.contender), *launcher, *module, *options)]


def python_of(contender: str) -> Path | str:
    return PFL_ENVIRONMENT / "bin" / "python" if contender == "pfl" else sys.executable


def environment(setting: Setting) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": str(setting.threads)}


def ensure_pfl() -> None:
    """pfl wants an environment of its own; made once, beside this file."""
    if not (PFL_ENVIRONMENT / "bin" / "python").exists():
        venv.create(PFL_ENVIRONMENT, with_pip=True)
    if subprocess.run([PFL_ENVIRONMENT / "bin" / "python", "-c", "import pfl"], capture_output=True).returncode:
        subprocess.run([PFL_ENVIRONMENT / "bin" / "pip", "install", "--quiet", *PFL_PACKAGES], check=True)


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}{'es' if noun.endswith('s') else 's'}"
