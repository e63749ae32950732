"""The process that computes: `python -m workers.queue.runner PARENT THREADS`. Imports torch once, takes run after run.

Messages are JSON, one object a line, on the standard input and output it was started with; docs/architecture.md lists
them. Whatever libraries print goes to standard error, which the parent keeps as the run's log.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import logging
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Lock, Thread
from typing import Any, TextIO

from workers.errors import CheckpointError, StopRequested, TributaryError

PR_SET_PDEATHSIG = 1
MODEL_FILE = "model.safetensors"
logger = logging.getLogger(__name__)


class EventPipe:
    """Events to the parent. The pipe is taken before any library can write into it."""

    def __init__(self) -> None:
        self.stream: TextIO = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self.lock = Lock()
        os.dup2(2, 1)

    def send(self, event: str, **data: Any) -> None:
        with self.lock:
            self.stream.write(json.dumps({"event": event, **data}) + "\n")
            self.stream.flush()


class JobInbox:
    """Messages from the parent, read beside the computation so that a stop is heard in the middle of a round."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self.stop = Event()
        Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if message["do"] == "run":
                # A stop that came too late for the run before must not end this one.
                self.stop.clear()
                self.jobs.put(message)
            elif message["do"] == "stop":
                self.stop.set()
            else:
                self.jobs.put(None)
        # The parent is gone: nobody will hear the result, and another worker will be given the run.
        os._exit(1)


def die_with_parent(parent: int) -> None:
    """Even a run that hangs in compiled code ends when its parent is killed."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit(1)


def run_job(job: Mapping[str, Any], pipe: EventPipe, stop: Callable[[], bool]) -> None:
    from workers.catalog.plugins import StalePluginError
    from workers.spec import IdentityError

    try:
        pipe.send("done", **compute_run(job, pipe, stop))
    except StopRequested:
        pipe.send("stopped")
    except StalePluginError as error:
        pipe.send("changed", reason=error.detail, outdated=True, code=True)
    except IdentityError as error:
        pipe.send("changed", reason=error.detail, outdated=False, code=error.code_differs)
    except TributaryError as error:
        pipe.send("failed", reason=str(error), trace=traceback.format_exc())
    except Exception as error:
        pipe.send("failed", reason=f"{type(error).__name__}: {error}", trace=traceback.format_exc())


def compute_run(job: Mapping[str, Any], pipe: EventPipe, stop: Callable[[], bool]) -> dict[str, Any]:
    from workers.engine import simulate
    from workers.engine.checkpoint import CheckpointPolicy
    from workers.engine.records import RoundRecord
    from workers.spec import LaunchIdentity, parse_run

    def on_round(record: RoundRecord) -> None:
        clients = {str(client): dict(numbers) for client, numbers in record.clients.items()}
        pipe.send("round", round=record.round, metrics=dict(record.metrics), cohort=record.cohort, clients=clients)

    def on_start(engine: str) -> None:
        pipe.send("started", engine=engine)

    def on_unsaved(number: int, error: CheckpointError) -> None:
        logger.warning("%s", error)
        pipe.send("unsaved", round=number, reason=str(error))

    checkpoint = job["checkpoint"]
    policy = CheckpointPolicy(
        folder=Path(checkpoint["folder"]),
        every=checkpoint["every"],
        token=checkpoint["token"],
        resume=tuple(path for path in map(Path, checkpoint["resume"]) if path.exists()),
        on_saved=lambda number, path: pipe.send("checkpoint", round=number, path=str(path)),
        on_unsaved=on_unsaved,
    )
    result = simulate(
        parse_run(job["spec"]),
        on_round=on_round,
        checkpoint=policy,
        device=job["device"],
        stop=stop,
        on_start=on_start,
        launched=LaunchIdentity(**job["launched"]),
        engine=job["engine"],
    )
    artifact = save_model(Path(job["artifacts"]), result.parameters)
    return {"provenance": dict(result.provenance), "findings": dict(result.findings), "artifact": artifact}


def save_model(folder: Path, parameters: Mapping[str, Any]) -> str:
    """Whole or absent: written beside its place, then moved into it. Names and shapes are those of `Result`."""
    import numpy as np
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    draft, path = folder / f".{MODEL_FILE}", folder / MODEL_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        save_file({name: np.asarray(array, order="C") for name, array in parameters.items()}, draft)
        draft.replace(path)
    except (OSError, SafetensorError) as error:
        raise TributaryError(f"The final model could not be written ({error}). Free some space and retry.") from error
    return str(path)


def import_engine(threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    importlib.import_module("workers.engine.simulation")


def main(parent: int, threads: int) -> None:
    die_with_parent(parent)
    pipe = EventPipe()
    # The parent decides when to end; a Ctrl-C in the terminal reaches the whole group.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    inbox = JobInbox()
    import_engine(threads)
    pipe.send("ready", pid=os.getpid())
    while (job := inbox.jobs.get()) is not None:
        run_job(job, pipe, inbox.stop.is_set)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
