"""The process that computes: `python -m workers.queue.runner PARENT THREADS`. Imports torch once, takes run after run.

Messages are JSON, one object a line, on the standard input and output it was started with; docs/architecture.md lists
them. Whatever libraries print goes to standard error, which the parent keeps as the run's log.
"""

from __future__ import annotations

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
from threading import Event, Thread
from typing import Any

from workers.errors import CheckpointError, StopRequested, TributaryError
from workers.queue.computing import UNUSABLE, EventPipe, die_with_parent, save_model

logger = logging.getLogger(__name__)


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


def run_job(job: Mapping[str, Any], pipe: EventPipe, stop: Callable[[], bool]) -> bool:
    """False where the accelerator failed: in this process it would fail every later run as well."""
    from workers.catalog.plugins import StalePluginError
    from workers.engine.execution.accelerator import accelerator_problem, is_accelerator_error
    from workers.spec import IdentityError

    if problem := accelerator_problem(job["device"]):
        reason = f"The device {job['device']} of this worker cannot be used: {problem}"
        pipe.send("accelerator", reason=reason, trace="", begun=False)
        return False
    try:
        pipe.send("done", **compute_run(job, pipe, stop))
    except StopRequested:
        pipe.send("stopped")
    except StalePluginError as error:
        pipe.send("changed", reason=error.detail, outdated=True, code=True)
    except IdentityError as error:
        pipe.send("changed", reason=error.detail, outdated=False, code=error.code_differs)
    except Exception as error:
        reason = str(error) if isinstance(error, TributaryError) else f"{type(error).__name__}: {error}"
        if is_accelerator_error(error) or accelerator_problem(job["device"]):
            pipe.send("accelerator", reason=reason, trace=traceback.format_exc(), begun=True)
            return False
        pipe.send("failed", reason=reason, trace=traceback.format_exc())
    return True


def compute_run(job: Mapping[str, Any], pipe: EventPipe, stop: Callable[[], bool]) -> dict[str, Any]:
    from workers.engine import simulate
    from workers.engine.checkpoint import CheckpointPolicy
    from workers.engine.records import RoundRecord
    from workers.engine.setup import device_from_name
    from workers.spec import LaunchIdentity, parse_run

    def on_round(record: RoundRecord) -> None:
        clients = {str(client): dict(numbers) for client, numbers in record.clients.items()}
        pipe.send("round", round=record.round, metrics=dict(record.metrics), cohort=record.cohort, clients=clients)

    def on_start(engine: str) -> None:
        pipe.send("started", engine=engine, device=device_from_name(job["device"]).type)

    def on_unsaved(number: int, error: CheckpointError) -> None:
        logger.warning("%s", error)
        pipe.send("unsaved", round=number, reason=str(error))

    checkpoint = job["checkpoint"]
    policy = CheckpointPolicy(
        folder=Path(checkpoint["folder"]),
        every=checkpoint["every"],
        seconds=checkpoint["seconds"],
        token=checkpoint["token"],
        resume=tuple(map(Path, checkpoint["resume"])),
        on_saved=lambda number, path: pipe.send("checkpoint", round=number, path=str(path)),
        on_unsaved=on_unsaved,
        on_refused=lambda error: pipe.send("refused", reason=str(error)),
        unusable=UNUSABLE,
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
    while (job := inbox.jobs.get()) is not None and run_job(job, pipe, inbox.stop.is_set):
        pass


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
