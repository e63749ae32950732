"""Runs an app as a worker does, without queue and database: the process, its pipe, its journal, its limits."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from workers.apps.launcher import app_command, app_environment
from workers.apps.leftovers import clear_leftovers
from workers.apps.package import AppPackage, read_package
from workers.queue.slot import Limits, RunnerDiedError, Slot

HERE = Path(__file__).resolve().parent
ENDS = ("done", "failed", "stopped")


def example(name: str) -> AppPackage:
    return read_package(HERE / "examples" / name)


def hostile(name: str) -> AppPackage:
    return read_package(HERE / "hostile" / name)


@dataclass
class AppResult:
    """Events of one attempt. `rounds` holds every round as it was last told."""

    folder: Path
    rounds: dict[int, dict[str, Any]] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)
    journal: str | None = None

    @property
    def numbers(self) -> dict[int, Any]:
        """All that must be equal in a repeated or resumed run: everything but seconds. As text, where NaN is NaN."""
        return {number: comparable_numbers(record) for number, record in self.rounds.items()}

    @property
    def text(self) -> str:
        return "\n".join(self.log)

    @property
    def files(self) -> Path:
        return next(self.folder.glob("artifacts/*/files"))

    def metric(self, name: str) -> list[float]:
        return [record["metrics"][name] for _, record in sorted(self.rounds.items()) if name in record["metrics"]]


def comparable_numbers(record: dict[str, Any]) -> Any:
    metrics = {name: repr(value) for name, value in record["metrics"].items() if name != "seconds"}
    clients = {
        client: {name: repr(value) for name, value in numbers.items()} for client, numbers in record["clients"].items()
    }
    return metrics, record["cohort"], clients


class AppProcess:
    """One attempt at a run of an app; `folder` is the run's, shared by all of its attempts."""

    def __init__(
        self,
        package: AppPackage,
        folder: Path,
        *,
        seed: int = 0,
        clients: int = 5,
        config: dict[str, Any] | None = None,
        metrics: dict[str, dict[str, str]] | None = None,
        resume: str | None = None,
        engine: str = "auto",
        threads: int = 1,
        limits: Limits | None = None,
    ) -> None:
        self.token = uuid4().hex
        self.result = AppResult(folder)
        self.slot = Slot(command=app_command(package), environment=app_environment(self.token), threads=threads)
        values = {**package.config, **(config or {}), **({"seed": seed} if package.takes_seed else {})}
        app = {
            "folder": str(package.folder),
            "serverapp": package.serverapp,
            "clientapp": package.clientapp,
            "hash": package.hash,
            "config": values,
            "clients": clients,
            "seed": seed,
            "metrics": metrics or {},
            "engine": engine,
        }
        checkpoint = {"folder": str(folder / "checkpoints"), "token": self.token, "resume": [resume] if resume else []}
        artifacts = str(folder / "artifacts" / self.token)
        job = {"run": 1, "launched": {"hash": "identity"}, "checkpoint": checkpoint, "artifacts": artifacts, "app": app}
        self.slot.start(job, limits=limits or Limits(silence=60), log=self.result.log.append)

    def poll(self) -> bool:
        """True once it has ended."""
        for event in self.slot.poll(0.05):
            if event["event"] == "round":
                self.result.rounds[event["round"]] = event
            elif event["event"] == "checkpoint":
                self.result.journal = event["path"]
            elif event["event"] in ENDS:
                self.result.end = event
        return bool(self.result.end)

    def wait(self) -> AppResult:
        try:
            while not self.poll():
                pass
        except RunnerDiedError as error:
            self.result.end = {"event": "died", "reason": str(error)}
        finally:
            self.close()
        return self.result

    def wait_for_rounds(self, count: int) -> None:
        while len(self.result.rounds) < count and not self.poll():
            pass

    def run_for(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.poll():
            pass

    def close(self) -> None:
        self.slot.kill()
        self.slot.close()
        clear_leftovers(self.token)


def run_app(package: AppPackage, folder: Path, **options: Any) -> AppResult:
    return AppProcess(package, folder, **options).wait()


def processes_with(mark: str) -> list[int]:
    import psutil

    marked = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TRIBUTARY_APP_RUN") == mark and process.status() != psutil.STATUS_ZOMBIE:
                marked.append(process.pid)
        except psutil.Error:
            continue
    return marked
