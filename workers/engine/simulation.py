"""`simulate`: one run from its spec to its result, resumable, without the platform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from time import perf_counter
from typing import Any

import numpy as np
import torch

from workers.engine.checkpoint import CheckpointPolicy, CheckpointState, load_newest, policy_of, save
from workers.engine.execution.choice import make_path
from workers.engine.execution.executors import Path
from workers.engine.messages.flower import quiet
from workers.engine.messages.grid import CohortGrid
from workers.engine.provenance import provenance
from workers.engine.records import Result, RoundRecord
from workers.engine.server.loop import Loop, OnRound, Progress
from workers.engine.server.survey import surveyed
from workers.engine.setup import Setup, device_named, make_setup
from workers.errors import CheckpointError, StopRequested
from workers.spec import RunSpec, canonical_hash, parse_run

MODEL, SERVER = "model/", "server/"


def simulate(
    spec: RunSpec | Mapping[str, Any],
    *,
    on_round: OnRound | None = None,
    checkpoint: CheckpointPolicy | FilePath | str | None = None,
    device: str = "auto",
    stop: Callable[[], bool] | None = None,
    on_start: Callable[[str], None] | None = None,
) -> Result:
    """Runs a spec (a dict is validated first) and returns its history, final parameters and provenance.

    `on_start` gets the engine path before the first round, `on_round` every record. `stop` is asked before each
    local step; once true, the rounds so far are saved (given a `checkpoint`) and `StopRequested` is raised.
    """
    started = perf_counter()
    spec = parse_run(spec)
    policy = policy_of(checkpoint)
    found = load_newest(policy, canonical_hash(spec)) if policy else None
    setup = make_setup(spec, device_named(device), stop)
    path = make_path(setup, found.engine if found else spec.engine)
    try:
        with quiet():
            if on_start is not None:
                on_start(path.name)
            loop = make_loop(setup, path, found, on_round)
            drive(loop, setup, path, policy)
    finally:
        path.close()
    return Result(
        tuple(loop.progress.history),
        {name: tensor.cpu().numpy() for name, tensor in loop.progress.model.items()},
        provenance(
            engine=path.name, device=str(setup.device), seconds=earlier_seconds(found) + perf_counter() - started
        ),
        loop.findings,
    )


def make_loop(setup: Setup, path: Path, found: CheckpointState | None, on_round: OnRound | None) -> Loop:
    grid = CohortGrid(setup.participation, path, setup.device, setup.evaluator.per_client)
    progress = Progress(setup.initial)
    if found is not None:
        restore(setup, progress, found)
    return Loop(
        setup.spec,
        setup.federation,
        setup.method,
        grid,
        setup.evaluator,
        setup.trainer.store,
        progress,
        on_round,
        setup.trainer.padded,
    )


def drive(loop: Loop, setup: Setup, path: Path, policy: CheckpointPolicy | None) -> None:
    if not loop.progress.history:
        asked = setup.method.survey
        loop.begin(None if asked is None else lambda: surveyed(asked, setup, path.name))
    saved = loop.progress.round
    try:
        while not loop.finished:
            loop.advance()
            if policy and loop.progress.round % policy.every == 0:
                saved = keep(loop, setup, path, policy) or saved
    except StopRequested:
        if policy and loop.progress.round > saved:
            keep(loop, setup, path, policy)
        raise


def keep(loop: Loop, setup: Setup, path: Path, policy: CheckpointPolicy) -> int | None:
    """The round that is safe now; None where it could not be written and the run shall go on all the same."""
    progress = loop.progress
    arrays = {f"{MODEL}{name}": tensor.cpu().numpy() for name, tensor in progress.model.items()}
    server = getattr(setup.method.server, "state", {})
    arrays |= {f"{SERVER}{name}": tensor.cpu().numpy() for name, tensor in server.items()}
    arrays |= setup.trainer.store.arrays()
    facts = {
        "history": [[each.round, dict(each.metrics), list(each.cohort)] for each in progress.history],
        "confusion": progress.confusion if progress.confusion is None else progress.confusion.tolist(),
    }
    try:
        save(policy, CheckpointState(canonical_hash(setup.spec), progress.round, path.name, arrays, facts))
    except CheckpointError as error:
        if policy.on_unsaved is None:
            raise
        policy.on_unsaved(progress.round, error)
        return None
    return progress.round


def earlier_seconds(found: CheckpointState | None) -> float:
    history = found.facts["history"] if found else ()
    return float(sum(metrics["seconds"] for _, metrics, _ in history))


def restore(setup: Setup, progress: Progress, found: CheckpointState) -> None:
    """Per-client numbers of earlier rounds are not in a checkpoint: whoever listened has them."""

    def below(prefix: str) -> dict[str, np.ndarray]:
        return {name.removeprefix(prefix): array for name, array in found.arrays.items() if name.startswith(prefix)}

    progress.round = found.round
    progress.model = {name: torch.from_numpy(np.array(array)).to(setup.device) for name, array in below(MODEL).items()}
    progress.history = [
        RoundRecord(number, metrics, tuple(cohort)) for number, metrics, cohort in found.facts["history"]
    ]
    progress.confusion = kept if (kept := found.facts.get("confusion")) is None else np.array(kept)
    if state := below(SERVER):
        setup.method.server.load(state)  # type: ignore[attr-defined]
    setup.trainer.store.load(found.arrays, setup.device)
