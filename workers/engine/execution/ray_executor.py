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
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch

from workers import TELEMETRY_OFF
from workers.child_environment import environment_without_secrets
from workers.engine.clients import ClientData
from workers.engine.execution.executors import Executor, ExecutorError
from workers.engine.execution.ray_server import (
    READY,
    Channel,
    ClientReply,
    ClientRequest,
    NamedArrays,
    RoundRequest,
    StartRequest,
)
from workers.engine.messages.arrays import Tensors
from workers.engine.training.rule import Contribution
from workers.engine.training.trainer import Assignment, Outcome, Trainer
from workers.errors import StopRequested, TributaryError
from workers.spec import canonical_hash

RUNTIME = (sys.executable, "-m", "workers.engine.execution.ray_server")
ROOT = Path(__file__).resolve().parents[3]
POLL_SECONDS = 0.05
END_SECONDS = 10
LOG_TAIL = 2000
RAY_ERRORS = "ray.exceptions."
"""In what Flower's runtime says of a client that Ray could not reach, rather than of one that failed by itself."""
ENVIRONMENT = {**TELEMETRY_OFF, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_DEDUP_LOGS": "0"}


class RayExecutor(Executor):
    name = "ray"

    def __init__(self, trainer: Trainer, command: Sequence[str] = RUNTIME) -> None:
        self.trainer, self.command, self.is_ready = trainer, command, False
        self.start_runtime()

    def start_runtime(self) -> None:
        # Ray's own processes may still write into it while they end.
        self.folder = tempfile.TemporaryDirectory(prefix="tributary-ray-", ignore_cleanup_errors=True)
        ours, theirs = socket.socketpair()
        with theirs, self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*self.command, str(theirs.fileno())],
                cwd=ROOT,
                env={**ENVIRONMENT, **environment_without_secrets(), **self.own_gpu, "PYTHONPATH": python_path()},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.runtime = Channel(ours.detach())
        self.send(start_request(self.trainer, self.folder.name))

    @property
    def own_gpu(self) -> dict[str, str]:
        return visible_devices(self.trainer.samples.x.device) if gpus_per_client() else {}

    @property
    def log(self) -> Path:
        return Path(self.folder.name) / "log.txt"

    def train(self, assignment: Assignment) -> list[Outcome]:
        if not self.is_ready:
            self.is_ready = self.wait_until_ready(assignment.round)
        self.send(round_request(assignment, self.trainer))
        replies: list[ClientReply] = self.receive(assignment.round)
        return [self.accept_reply(client, reply) for client, reply in zip(assignment.clients, replies, strict=True)]

    def wait_until_ready(self, number: int) -> bool:
        """Ray gives itself 30 s to start, which a busy machine exceeds now and then: it is started once more."""
        try:
            return bool(self.receive(number) == READY)
        except ExecutorError:
            self.close()
            self.start_runtime()
            return bool(self.receive(number) == READY)

    def send(self, request: StartRequest | RoundRequest) -> None:
        """A runtime that has gone is found by `receive`, which follows, and asks first whether to stop."""
        with suppress(EOFError):
            self.runtime.send(request)

    def receive(self, number: int) -> Any:
        """The runtime's next message; before and while it waits, it asks whether to stop."""
        while True:
            if self.trainer.stop is not None and self.trainer.stop():
                raise StopRequested(f"Stopped in round {number}.")
            if self.runtime.poll(POLL_SECONDS):
                break
        try:
            return self.runtime.receive()
        except EOFError:
            raise ExecutorError(f"Flower's Ray runtime ended unexpectedly:\n{self.read_log_tail()}") from None

    def read_log_tail(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")[-LOG_TAIL:]

    def accept_reply(self, client: ClientData, reply: ClientReply) -> Outcome:
        """Also remembers what the client keeps between rounds."""
        if reply.error is not None and RAY_ERRORS in reply.error:
            raise ExecutorError(
                f"Ray lost client {client.index}, as when a node of its cluster goes away. Retry goes on from the last "
                f"checkpoint with the nodes that are left. Ray says: {reply.error}"
            )
        if reply.error is not None:
            raise TributaryError(f"Client {client.index}: {reply.error}")
        device, facts = self.trainer.samples.x.device, reply.facts
        self.trainer.store.kept.pop(client.index, None)
        if reply.state:
            self.trainer.store.kept[client.index] = to_tensors(reply.state, device)
        return Outcome(
            clients=[client.index],
            tasks=[client.task],
            samples=[facts["samples"]],
            steps=[facts["steps"]],
            losses=[facts["loss"]],
            model=to_tensors(reply.model, device),
            reply_name=facts["reply_name"],
            contribution=Contribution(
                {name: to_tensors(arrays, device) for name, arrays in reply.extra.items()},
                {name: [value] for name, value in facts["rule"].items()},
            ),
        )

    def close(self) -> None:
        """The closed socket ends the child; whatever of its process group is left after that is killed."""
        self.runtime.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(END_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.folder.cleanup()


def start_request(trainer: Trainer, folder: str) -> StartRequest:
    client_gpus = gpus_per_client()
    return StartRequest(
        spec=trainer.spec.model_dump_json(),
        identity=canonical_hash(trainer.spec),
        device=client_device(trainer.samples.x.device, client_gpus),
        nodes=trainer.spec.cohort_size + 1,
        client_cpus=float(os.environ.get("TRIBUTARY_RAY_CLIENT_CPUS") or 1),
        client_gpus=client_gpus,
        cpus=None if os.environ.get("RAY_ADDRESS") else processor_count(),
        folder=folder,
    )


def gpus_per_client() -> float:
    return float(os.environ.get("TRIBUTARY_RAY_CLIENT_GPUS") or 0)


def client_device(device: torch.device, client_gpus: float) -> str:
    """The worker's own GPU; where Ray hands GPUs out, a client sees none but its own, which is its first."""
    return device.type if client_gpus else str(device)


def visible_devices(device: torch.device, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """A Ray that is started here and hands out GPUs has only this worker's to give: the others are other workers'."""
    if device.type != "cuda" or environ.get("RAY_ADDRESS"):
        return {}
    visible = [each.strip() for each in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each.strip()]
    place = device.index or 0
    return {"CUDA_VISIBLE_DEVICES": visible[place] if place < len(visible) else str(place)}


def processor_count() -> int:
    return int(os.environ.get("TRIBUTARY_THREADS") or len(os.sched_getaffinity(0)))


def python_path() -> str:
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def round_request(assignment: Assignment, trainer: Trainer) -> RoundRequest:
    def client_request(client: ClientData) -> ClientRequest:
        state = to_arrays(trainer.store.kept.get(client.index, {}))
        return ClientRequest(client.index, assignment.parts.get(client.index), state, client.task)

    return RoundRequest(
        assignment.round,
        to_arrays(assignment.anchor),
        assignment.was_sent,
        {name: to_arrays(each) for name, each in assignment.received.items()},
        dict(assignment.config),
        [client_request(client) for client in assignment.clients],
        {task: to_arrays(each) for task, each in assignment.models.items()},
    )


def to_arrays(tensors: Tensors) -> NamedArrays:
    return {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}


def to_tensors(arrays: NamedArrays, device: torch.device) -> Tensors:
    return {name: torch.from_numpy(array.copy()).to(device) for name, array in arrays.items()}
