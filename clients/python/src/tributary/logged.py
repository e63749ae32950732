"""`init`, `log`, `finish`: a training loop of one's own beside the lab's.

`log` writes a line to the disk and returns; a thread sends. A lab that is away, slow or busy costs the loop nothing,
and what it has not heard when the script ends is sent later by `tributary sync`.
"""

from __future__ import annotations

import atexit
import math
import os
import platform
import subprocess
import sys
import threading
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tributary.connection import BUSY, AwayError, Connection, LabError, connect
from tributary.outbox import FINISH, GONE_ON, RunFile

SEND_SECONDS, LONGEST_WAIT = 0.5, 30.0
END_SECONDS = 60.0
Scalar = bool | int | float | str


def init(
    study: str,
    config: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
    script: str | None = None,
    lab: Connection | None = None,
) -> LoggedRun:
    """Begins a run of `study`; its config's keys are axes there. Runs that differ only in `seed` are one cell."""
    name = script or Path(sys.argv[0] or "script").name
    start = {
        "study": study,
        "script": name[:100],
        "config": flat_config(config or {}),
        "seed": seed,
        "provenance": provenance(),
    }
    return LoggedRun(RunFile.create(start), lab or connect())


class LoggedRun:
    """A run that this process logs. Use it as a context manager, and an exception ends it as failed."""

    def __init__(self, file: RunFile, lab: Connection) -> None:
        self.file, self.lab = file, lab
        self.next_round = 0
        self.ended = False
        self.refused = False
        self.complaint = ""
        self.process = os.getpid()
        self.state = ""
        self.descriptor = os.open(file.path, os.O_WRONLY | os.O_APPEND)
        self.wake = threading.Event()
        self.thread = threading.Thread(target=self.keep_sending, name="tributary", daemon=True)
        self.thread.start()
        atexit.register(self.finish)

    @property
    def id(self) -> int | None:
        """Its number at the lab, once that has answered."""
        return self.file.run

    def log(self, metrics: Mapping[str, Any], *, round: int | None = None) -> None:  # noqa: A002
        """Values of a round, the next one unless it is named. Told again, a value takes the place of the one before."""
        if self.ended:
            raise RuntimeError("The run has ended: nothing is logged after finish().")
        if round is None:
            round = self.next_round  # noqa: A001
        if round < 0:
            raise ValueError(f"Rounds are numbered from 0, not {round}.")
        self.next_round = round + 1
        fields = ",".join(f"{quote(name)}:{number_text(value)}" for name, value in metrics.items())
        os.write(self.descriptor, f'{{"round":{int(round)},"metrics":{{{fields}}}}}\n'.encode())

    def finish(self, failed: bool = False, reason: str = "") -> None:
        """Ends the run, and waits a minute at most until the lab has heard all of it. A second call does nothing."""
        if self.ended or os.getpid() != self.process:  # a fork that ends is not the end of the run
            return
        self.ended = True
        atexit.unregister(self.finish)
        if not self.refused:
            self.file.append({FINISH: {"state": "failed" if failed else "done", "reason": reason[:10_000]}})
        self.wake.set()
        self.thread.join(END_SECONDS)
        os.close(self.descriptor)
        if self.file.path.exists():
            warnings.warn(
                f"The lab has not heard all of this run yet. It is kept in {self.file.path}; "
                "`tributary sync` sends it when the lab is there again.",
                stacklevel=2,
            )

    def __enter__(self) -> LoggedRun:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish(failed=kind is not None, reason=f"{kind.__name__}: {error}" if kind else "")

    def keep_sending(self) -> None:
        """Until the end is told. An absent lab is asked more and more seldom."""
        pause = SEND_SECONDS
        with self.file.held():
            while True:
                last = self.ended
                try:
                    self.state = self.file.send(self.lab) or self.state
                    pause = SEND_SECONDS
                except AwayError:
                    pause = min(2 * pause, LONGEST_WAIT)
                except LabError as error:
                    if error.status in GONE_ON:
                        warnings.warn(f"The lab takes no more of this run: {error.detail}", stacklevel=1)
                        self.refused = True
                        self.file.remove()
                        return
                    self.complain(error)
                    pause = min(2 * pause, LONGEST_WAIT)
                if last:
                    if self.file.finished:
                        self.file.remove()
                    return
                self.wake.wait(pause)

    def complain(self, error: LabError) -> None:
        """Once for each reason: the loop goes on, and what it logs is kept."""
        if error.status not in BUSY and str(error) != self.complaint:
            self.complaint = str(error)
            warnings.warn(f"The lab refuses what this run logged, which is kept: {error}", stacklevel=2)


def quote(name: str) -> str:
    if name.isidentifier():
        return f'"{name}"'
    import json

    return json.dumps(str(name))


def number_text(value: Any) -> str:
    """NaN and infinity are data, too; arrays of one number (NumPy, PyTorch) count as that number."""
    number = float(value)
    if math.isfinite(number):
        return repr(number)
    return '"NaN"' if math.isnan(number) else '"Infinity"' if number > 0 else '"-Infinity"'


def flat_config(config: Mapping[str, Any], prefix: str = "") -> dict[str, Scalar]:
    """Nested keys get dots; whatever is no plain value is written as text."""
    flat: dict[str, Scalar] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat |= flat_config(value, f"{name}.")
        elif isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
            flat[name] = value
        else:
            flat[name] = str(value)
    return flat


def provenance() -> dict[str, str]:
    """Where the numbers come from: the script's commit, its interpreter, its machine."""
    facts = {"host": platform.node(), "python": platform.python_version(), "command": " ".join(sys.argv)[:1000]}
    folder = Path(sys.argv[0]).resolve().parent if sys.argv[0] else Path.cwd()
    for name, command in (("commit", ["rev-parse", "HEAD"]), ("changes", ["status", "--porcelain"])):
        answer = run_git(folder, command)
        if answer:
            facts[name] = answer if name == "commit" else f"{len(answer.splitlines())} files"
    for module in ("torch", "flwr", "numpy", "jax", "tensorflow"):
        if module in sys.modules:
            facts[module] = str(getattr(sys.modules[module], "__version__", "unknown"))
    return facts


def run_git(folder: Path, command: list[str]) -> str:
    try:
        answer = subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""
