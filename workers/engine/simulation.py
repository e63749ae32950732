"""`simulate`: one run from its spec to its result, resumable, without the platform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

from workers.engine.checkpoint import (
    CheckpointClock,
    CheckpointPolicy,
    CheckpointState,
    CheckpointWriter,
    load_newest_checkpoint,
    policy_of,
)
from workers.engine.execution.executors import Executor, make_executor
from workers.engine.execution.threads import one_computing_thread
from workers.engine.messages.flower import quiet_flower
from workers.engine.messages.grid import CohortGrid
from workers.engine.provenance import run_provenance
from workers.engine.records import Result, RoundRecord
from workers.engine.server.fine_tuning import FineTuner
from workers.engine.server.loop import OnRound, Progress, ServerLoop
from workers.engine.server.survey import run_survey
from workers.engine.setup import Setup, device_from_name, make_setup
from workers.errors import StopRequested
from workers.spec import LaunchIdentity, RunSpec, launch_identity, parse_run, require_identity

MODEL, SERVER, ATTRIBUTES = "model/", "server/", "attributes/"


@one_computing_thread()
def simulate(
    spec: RunSpec | Mapping[str, Any],
    *,
    on_round: OnRound | None = None,
    checkpoint: CheckpointPolicy | Path | str | None = None,
    device: str = "auto",
    stop: Callable[[], bool] | None = None,
    on_start: Callable[[str], None] | None = None,
    launched: LaunchIdentity | None = None,
    engine: str | None = None,
) -> Result:
    """Runs a spec (a dict is validated first) and returns its history, final parameters and provenance.

    `on_start` gets the executor's name before the first round, `on_round` every record. `stop` is asked before each
    local step; once true, the rounds so far are saved (given a `checkpoint`) and `StopRequested` is raised. With the
    identity it was `launched` with, a run that would have another by now raises `IdentityError`. `engine` is the
    executor that an earlier attempt took, where the spec leaves the choice.
    """
    started = perf_counter()
    spec = parse_run(spec)
    policy = policy_of(checkpoint)
    identity = require_identity(spec, launched or launch_identity(spec))
    place = device_from_name(device)
    saved_state = load_newest_checkpoint(policy, identity.hash, device=place.type) if policy else None
    setup = make_setup(spec, place, stop)
    executor = make_executor(setup, saved_state.engine if saved_state else engine or spec.engine)
    try:
        # Data and code have been read by now: whatever was replaced meanwhile is in them.
        require_identity(spec, identity)
        with quiet_flower():
            if on_start is not None:
                on_start(executor.name)
            fine_tuner = make_fine_tuner(setup, executor)
            loop = make_loop(setup, executor, saved_state, on_round, fine_tuner)
            try:
                run_rounds(loop, setup, executor, policy, identity.hash)
            finally:
                if fine_tuner is not None:
                    fine_tuner.close()
    finally:
        executor.close()
    return Result(
        tuple(loop.progress.history),
        {name: tensor.cpu().numpy() for name, tensor in loop.final_model.items()},
        run_provenance(
            engine=executor.name,
            device=str(setup.device),
            seconds=earlier_seconds(saved_state) + perf_counter() - started,
            data_checksum=identity.sources["data"],
        ),
        loop.findings,
    )


def make_fine_tuner(setup: Setup, executor: Executor) -> FineTuner | None:
    spec = setup.method.fine_tune
    return None if spec is None else FineTuner(spec, setup, executor.name)


def make_loop(
    setup: Setup,
    executor: Executor,
    saved_state: CheckpointState | None,
    on_round: OnRound | None,
    fine_tuner: FineTuner | None = None,
) -> ServerLoop:
    grid = CohortGrid(setup.participation, executor, setup.device, setup.evaluator.evaluate_per_client)
    progress = Progress(setup.initial)
    loop = ServerLoop(
        setup.spec,
        setup.federation,
        setup.method,
        grid,
        setup.evaluator,
        setup.trainer.store,
        progress,
        on_round,
        setup.trainer.padded,
        setup.adversary,
        setup.compression,
        setup.selector,
        fine_tuner,
        setup.step_size,
    )
    if saved_state is not None:
        restore_progress(loop, setup, saved_state)
    return loop


def run_rounds(
    loop: ServerLoop, setup: Setup, executor: Executor, policy: CheckpointPolicy | None, identity: str
) -> None:
    if not loop.progress.history:
        survey = setup.method.survey
        loop.begin(None if survey is None else lambda: run_survey(survey, setup, executor.name))
    begun_from = loop.progress.round
    clock, writer = (CheckpointClock(policy), CheckpointWriter(policy)) if policy else (None, None)
    try:
        while not loop.is_finished:
            loop.advance()
            if writer and clock and clock.is_due(loop.progress.round):
                writer.save(copy_progress(loop, setup, executor, identity))
        if writer:
            writer.wait()
    except StopRequested:
        if writer:
            writer.wait()
            if loop.progress.round > max(begun_from, writer.saved_round):
                writer.save(copy_progress(loop, setup, executor, identity))
                writer.wait()
        raise
    finally:
        if writer:
            writer.close()


def copy_progress(loop: ServerLoop, setup: Setup, executor: Executor, identity: str) -> CheckpointState:
    """What the next rounds leave alone, whatever they train. Facts and history are whole in what was told of them.

    `identity` is that of the data and code which were read: the files may have others by now.
    """
    progress = loop.progress
    arrays = {f"{MODEL}{name}": tensor.cpu().numpy() for name, tensor in progress.model.items()}
    state = loop.server_side.state
    arrays |= {f"{SERVER}{name}": tensor.cpu().numpy() for name, tensor in state.items()}
    arrays |= setup.trainer.store.arrays()
    attributes: dict[str, Any] = {}
    for watch in loop.watches:
        further, attributes[watch.name] = watch.save()
        arrays |= {f"{ATTRIBUTES}{path}": array for path, array in further.items()}
    confusion = None if progress.confusion is None else progress.confusion.tolist()
    return CheckpointState(
        identity,
        progress.round,
        executor.name,
        {name: np.array(array, order="C") for name, array in arrays.items()},
        deepcopy({"confusion": confusion, "attributes": attributes}),
        setup.device.type,
        [[each.round, dict(each.metrics), list(each.cohort)] for each in progress.history],
    )


def earlier_seconds(saved_state: CheckpointState | None) -> float:
    history = saved_state.history if saved_state else ()
    return float(sum(metrics["seconds"] for _, metrics, _ in history))


def restore_progress(loop: ServerLoop, setup: Setup, saved_state: CheckpointState) -> None:
    """Per-client numbers of earlier rounds are not in a checkpoint: whoever listened has them."""

    def arrays_below(prefix: str) -> dict[str, np.ndarray]:
        return {
            name.removeprefix(prefix): array for name, array in saved_state.arrays.items() if name.startswith(prefix)
        }

    progress = loop.progress
    progress.round = saved_state.round
    progress.model = {
        name: torch.from_numpy(np.array(array)).to(setup.device) for name, array in arrays_below(MODEL).items()
    }
    progress.history = [RoundRecord(number, metrics, tuple(cohort)) for number, metrics, cohort in saved_state.history]
    confusion = saved_state.facts.get("confusion")
    progress.confusion = None if confusion is None else np.array(confusion)
    if state := arrays_below(SERVER):
        loop.server_side.load(state)
    for watch in loop.watches:
        watch.load(arrays_below(ATTRIBUTES), saved_state.facts.get("attributes", {}).get(watch.name, {}), setup.device)
    setup.trainer.store.load(saved_state.arrays, setup.device)
