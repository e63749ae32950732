"""`engine: ray`: the clients of a cohort on Flower's Ray runtime, on this machine or on the cluster at RAY_ADDRESS.

Strategy, sampling, evaluation and checkpoints stay in this process; Flower's runtime runs in a process of its own
(Ray does not start inside a Celery child), which gets each round's messages over a socket.

    RAY_ADDRESS                  a running cluster; without it Ray is started for the run, on this machine
    TRIBUTARY_RAY_CLIENT_CPUS    processors per client, 1 unless given
    TRIBUTARY_RAY_CLIENT_GPUS    GPUs per client, may be a fraction; 0 unless given
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path as FilePath
from typing import Any

import torch

from workers.engine.data.federation import ClientData
from workers.engine.execution.executors import Path
from workers.engine.execution.ray_server import Answer, Arrays, Errand, Exchange, Start
from workers.engine.messages.arrays import Tensors
from workers.engine.training.rule import Contribution
from workers.engine.training.trainer import Assignment, Outcome, Trainer
from workers.errors import StopRequested, TributaryError
from workers.quiet import SILENT

ROOT = FilePath(__file__).resolve().parents[3]
POLL_SECONDS = 0.05
END_SECONDS = 10
TAIL = 2000
ENVIRONMENT = {**SILENT, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0"}


class RayPath(Path):
    name = "ray"

    def __init__(self, trainer: Trainer) -> None:
        self.trainer, self.ready = trainer, False
        self.begin()

    def begin(self) -> None:
        # Ray's own processes may still write into it while they end.
        self.folder = tempfile.TemporaryDirectory(prefix="tributary-ray-", ignore_cleanup_errors=True)
        ours, theirs = socket.socketpair()
        with theirs, self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "workers.engine.execution.ray_server", str(theirs.fileno())],
                cwd=ROOT,
                env={**ENVIRONMENT, **os.environ, "PYTHONPATH": python_path()},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.child = Connection(ours.detach())
        self.child.send(start_of(self.trainer, self.folder.name))

    @property
    def log(self) -> FilePath:
        return FilePath(self.folder.name) / "log.txt"

    def train(self, assignment: Assignment) -> list[Outcome]:
        if not self.ready:
            self.ready = self.started(assignment.round)
        self.child.send(exchange_of(assignment, self.trainer))
        answers: list[Answer] = self.receive(assignment.round)
        return [self.outcome(client, answer) for client, answer in zip(assignment.clients, answers, strict=True)]

    def started(self, number: int) -> bool:
        """Ray gives itself 30 s to start, which a busy machine exceeds now and then: it is started once more."""
        try:
            return bool(self.receive(number) == "ready")
        except TributaryError:
            self.close()
            self.begin()
            return bool(self.receive(number) == "ready")

    def receive(self, number: int) -> Any:
        """The child's next message; before and while it waits, it asks whether to stop."""
        try:
            while True:
                if self.trainer.stop is not None and self.trainer.stop():
                    raise StopRequested(f"Stopped in round {number}.")
                if self.child.poll(POLL_SECONDS):
                    return self.child.recv()
        except (EOFError, ConnectionError):
            raise TributaryError(f"Flower's Ray runtime ended unexpectedly:\n{self.last_words()}") from None

    def last_words(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-TAIL:]

    def outcome(self, client: ClientData, answer: Answer) -> Outcome:
        if answer.error is not None:
            raise TributaryError(f"Client {client.index}: {answer.error}")
        device, facts = self.trainer.samples.x.device, answer.facts
        self.trainer.store.kept.pop(client.index, None)
        if answer.kept:
            self.trainer.store.kept[client.index] = tensors(answer.kept, device)
        return Outcome(
            clients=[client.index],
            tasks=[client.task],
            samples=[facts["samples"]],
            steps=[facts["steps"]],
            losses=[facts["loss"]],
            model=tensors(answer.model, device),
            reply_name=facts["reply_name"],
            contribution=Contribution(
                {name: tensors(found, device) for name, found in answer.extra.items()},
                {name: [value] for name, value in facts["rule"].items()},
            ),
        )

    def close(self) -> None:
        """The closed socket ends the child; whatever of its process group is left after that is killed."""
        self.child.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.folder.cleanup()


def start_of(trainer: Trainer, folder: str) -> Start:
    return Start(
        spec=trainer.spec.model_dump_json(),
        device=trainer.samples.x.device.type,
        nodes=trainer.spec.cohort_size + 1,
        client_cpus=float(os.environ.get("TRIBUTARY_RAY_CLIENT_CPUS") or 1),
        client_gpus=float(os.environ.get("TRIBUTARY_RAY_CLIENT_GPUS") or 0),
        cpus=None if os.environ.get("RAY_ADDRESS") else processors(),
        folder=folder,
    )


def processors() -> int:
    return int(os.environ.get("TRIBUTARY_THREADS") or len(os.sched_getaffinity(0)))


def python_path() -> str:
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def exchange_of(assignment: Assignment, trainer: Trainer) -> Exchange:
    def errand(client: ClientData) -> Errand:
        kept = arrays(trainer.store.kept.get(client.index, {}))
        return Errand(client.index, assignment.parts.get(client.index), kept, client.task)

    return Exchange(
        assignment.round,
        arrays(assignment.anchor),
        assignment.was_sent,
        {name: arrays(each) for name, each in assignment.received.items()},
        dict(assignment.config),
        [errand(client) for client in assignment.clients],
        {task: arrays(each) for task, each in assignment.models.items()},
    )


def arrays(found: Tensors) -> Arrays:
    return {name: tensor.detach().cpu().numpy() for name, tensor in found.items()}


def tensors(found: Arrays, device: torch.device) -> Tensors:
    return {name: torch.from_numpy(array.copy()).to(device) for name, array in found.items()}
