"""The process of one run of an app: `python -m workers.apps.runtime.process PARENT THREADS`; it speaks as a runner.

The app is imported here and nowhere else. The working folder is the run's own: what the app writes there become the
run's files. A stop ends the process at once: the journal is complete at every moment.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import platform
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import TYPE_CHECKING, Any

from workers.errors import CheckpointError, TributaryError
from workers.queue.computing import UNUSABLE, EventPipe, die_with_parent, save_model

if TYPE_CHECKING:
    from workers.apps.runtime.journal import Entry

IN_PROCESS, ON_RAY = "flower", "ray"
JOB_FILE = "job.json"
SERVER_NODE = 1
JOURNAL_BYTES = 2_000_000_000
CHECKPOINT_SECONDS = 5.0
PACKAGES = ("flwr", "numpy", "torch", "scikit-learn", "ray")
SECONDS = "seconds"
logger = logging.getLogger("app")
Restart = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class AppJob:
    """What the worker says about a run: its package's folder and entry points, its config with the seed in it."""

    folder: Path
    serverapp: str
    clientapp: str
    digest: str
    config: dict[str, Any]
    clients: int
    seed: int
    metrics: dict[str, dict[str, str]]
    engine: str
    identity: str
    journal: Path
    resume: tuple[Path, ...]
    files: Path
    artifacts: Path

    @classmethod
    def from_message(cls, message: Mapping[str, Any]) -> AppJob:
        checkpoint, app = message["checkpoint"], message["app"]
        return cls(
            folder=Path(app["folder"]),
            serverapp=app["serverapp"],
            clientapp=app["clientapp"],
            digest=app["hash"],
            config=app["config"],
            clients=app["clients"],
            seed=app["seed"],
            metrics=app["metrics"],
            engine=app["engine"],
            identity=message["launched"]["hash"],
            journal=Path(checkpoint["folder"]) / f"{checkpoint['token']}.journal",
            resume=tuple(map(Path, checkpoint["resume"])),
            files=Path(message["artifacts"]) / "files",
            artifacts=Path(message["artifacts"]),
        )


class AppRun:
    """One run, from the import of its app to its last round."""

    def __init__(self, job: AppJob, pipe: EventPipe, threads: int) -> None:
        self.job, self.pipe, self.threads = job, pipe, threads
        self.started = perf_counter()
        self.stored_rounds: dict[int, dict[str, Any]] = {}
        self.next_checkpoint = 0.0

    def compute(self) -> dict[str, Any]:
        from workers.apps.runtime.clients import Clients, ClientSetting
        from workers.apps.runtime.grid import InProcessGrid
        from workers.apps.runtime.journal import REPLY, ROUND, Journal
        from workers.apps.runtime.legacy import serialise_clients
        from workers.apps.runtime.loading import import_pair
        from workers.apps.runtime.observers import StrategyObserver
        from workers.apps.runtime.rounds import RoundBook
        from workers.apps.runtime.seeding import seed_generators

        job = self.job
        earlier = self.earlier_entries()
        self.journal = Journal(job.journal, job.identity, JOURNAL_BYTES, earlier)
        self.stored_rounds = {entry.fields["round"]: entry.fields for entry in earlier if entry.kind == ROUND}
        if earlier:
            replies = sum(entry.kind == REPLY for entry in earlier)
            logger.info("Resumed: %s rounds and %s replies were stored.", len(self.stored_rounds), replies)
        serialise_clients()
        seed_generators(job.seed, node=None)
        server_app, client_app = import_pair(job.folder, job.serverapp, job.clientapp)
        book = RoundBook(self.end_round, job.metrics)
        if is_legacy(server_app):
            book.begin_strategy(from_zero=True)
        observer = StrategyObserver(book)
        observer.observe_all()
        observer.observe_legacy()
        seed_generators(job.seed, node=None)
        self.pipe.send("started", engine=self.engine, device=self.device)
        self.save_checkpoint(0)
        context = server_context(job)
        if job.engine == "auto":
            clients = Clients(
                client_app,
                ClientSetting(job.config, job.clients, job.seed),
                processes=self.threads,
                folder=job.folder,
                clientapp=job.clientapp,
            )
            grid = InProcessGrid(
                clients,
                book=book,
                journal=self.journal,
                replay=[entry for entry in earlier if entry.kind == REPLY],
            )
            server_app(grid=grid, context=context)
            if grid.replay:
                mismatch(f"it ends before {len(grid.replay)} of its stored replies")
            findings: dict[str, Any] = {"timeouts": grid.timeouts} if grid.timeouts else {}
        else:
            from workers.apps.runtime.ray_backend import run_on_ray

            run_on_ray(
                server_app=server_app,
                clientapp=job.clientapp,
                folder=job.folder,
                clients=job.clients,
                context=context,
                processors=self.threads,
            )
            findings = {}
        book.close()
        if state := server_findings(context):
            findings["server_state"] = state
        artifact = save_model(job.artifacts, observer.model) if observer.model else None
        return {"provenance": self.provenance(), "findings": findings, "artifact": artifact}

    def earlier_entries(self) -> list[Entry]:
        """Of the first journal that can be used; one that cannot is told, and none among several is an error."""
        from workers.apps.runtime.journal import read_journal

        refusals: list[str] = []
        for path in self.job.resume:
            try:
                entries = read_journal(path, self.job.identity)
                for refusal in refusals:
                    self.pipe.send("refused", reason=refusal)
                return entries
            except CheckpointError as error:
                refusals.append(str(error))
        if refusals:
            raise CheckpointError("\n".join([UNUSABLE, *refusals]))
        return []

    def end_round(self, record: dict[str, Any]) -> None:
        """A round that an earlier attempt told is told again as it was, with its seconds."""
        from workers.apps.runtime.journal import ROUND, Entry

        number = record["round"]
        clients = {str(client): numbers for client, numbers in record["clients"].items()}
        fields = {**record, "clients": clients}
        if stored := self.stored_rounds.get(number):
            if without_seconds(stored["metrics"]) != without_seconds(fields["metrics"]):
                mismatch(f"round {number} has other numbers than before")
            fields = stored
        else:
            self.journal.append(Entry(ROUND, fields))
        self.pipe.send("round", **{key: fields[key] for key in ("round", "metrics", "cohort", "clients")})
        self.save_checkpoint(number)

    def save_checkpoint(self, number: int) -> None:
        """The journal's name is told once, at the start, and then now and then, with the round it reaches."""
        if self.job.engine != "auto" or not self.journal.is_complete or perf_counter() < self.next_checkpoint:
            return
        self.journal.flush()
        self.next_checkpoint = perf_counter() + CHECKPOINT_SECONDS
        self.pipe.send("checkpoint", round=number, path=str(self.journal.path))

    @property
    def engine(self) -> str:
        return IN_PROCESS if self.job.engine == "auto" else ON_RAY

    @property
    def device(self) -> str:
        return "cuda" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu"

    def provenance(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "app_hash": self.job.digest,
            "device": self.device,
            "seconds": perf_counter() - self.started,
            "python": platform.python_version(),
            "system": f"{platform.system()} {platform.machine()}",
            "packages": {name: found for name in PACKAGES if (found := package_version(name))},
        }


def mismatch(text: str) -> None:
    from workers.apps.runtime.grid import ReplayMismatch

    raise ReplayMismatch(text)


def without_seconds(metrics: Mapping[str, float]) -> dict[str, str]:
    """As text: NaN is not equal to itself."""
    return {name: repr(value) for name, value in metrics.items() if name != SECONDS}


def package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def server_context(job: AppJob) -> Any:
    from flwr.app import Context, RecordDict

    return Context(run_id=1, node_id=SERVER_NODE, node_config={}, state=RecordDict(), run_config=dict(job.config))


def server_findings(context: Any) -> dict[str, dict[str, Any]]:
    """What a `main` without a strategy found out, it leaves in its context."""
    return {name: dict(record.items()) for name, record in context.state.metric_records.items()}


def is_legacy(server_app: Any) -> bool:
    """Without a `main` of its own Flower's legacy server drives the strategy, and asks a client for the first model."""
    return server_app._main is None


def listen(stream: Any, pipe: EventPipe) -> None:
    """A stop, or the end of the parent."""
    for line in stream:
        if json.loads(line)["do"] == "stop":
            pipe.send("stopped")
            os._exit(0)
    os._exit(1)


def run_job(message: Mapping[str, Any], pipe: EventPipe, threads: int, restart: Restart) -> None:
    from workers.apps.runtime.grid import ReplayMismatch

    job = AppJob.from_message(message)
    job.files.mkdir(parents=True, exist_ok=True)
    os.chdir(job.files)
    try:
        pipe.send("done", **AppRun(job, pipe, threads).compute())
    except ReplayMismatch as error:
        logger.warning("The run starts anew instead of going on: %s. Its server does something no seed repeats.", error)
        restart({**message, "checkpoint": {**message["checkpoint"], "resume": []}})
    except TributaryError as error:
        pipe.send("failed", reason=str(error), trace=traceback.format_exc())
    except BaseException as error:
        pipe.send("failed", reason=f"{type(error).__name__}: {error}", trace=traceback.format_exc())


def main(parent: int, threads: int, job_file: str | None = None) -> None:
    die_with_parent(parent)
    pipe = EventPipe()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    importlib.import_module("workers.apps.runtime.grid")
    # Flower writes every line to the terminal itself, in colours: once is enough, in the form of the other lines.
    logging.getLogger("flwr").handlers.clear()
    pipe.send("ready", pid=os.getpid())
    # Unbuffered: a process that starts anew must find in the pipe whatever was not read yet.
    lines = os.fdopen(0, "rb", buffering=0)
    message = json.loads(Path(job_file).read_text() if job_file else lines.readline())

    def restart(job: Mapping[str, Any]) -> None:
        shutil.rmtree(Path(job["artifacts"]) / "files", ignore_errors=True)
        path = Path(job["checkpoint"]["folder"]) / JOB_FILE
        path.write_text(json.dumps(job))
        os.chdir(path.parent)
        os.dup2(pipe.stream.fileno(), 1)
        module = ["-m", "workers.apps.runtime.process", str(parent), str(threads), str(path)]
        os.execv(sys.executable, [sys.executable, *module])

    Thread(target=listen, args=(lines, pipe), daemon=True).start()
    run_job(message, pipe, threads, restart)
    pipe.stream.close()
    os._exit(0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])
