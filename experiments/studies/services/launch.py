"""Launching: a list of blocks becomes a study and its runs, all of it or nothing."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.db import transaction

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_launch
from experiments.core.database import Lock, lock_in_transaction
from experiments.core.errors import NotAllowedError
from experiments.core.json_values import plain_text
from experiments.datasets.selectors import missing_data_problems
from experiments.flower_apps.services import versions_keep
from experiments.models import Device, Membership, Run, Study, User
from experiments.queue.services.runs import ACTIVE, best_by_hash, live_runs
from experiments.queue.services.wake_up import wake_up_after_commit
from experiments.results.live.notify import notify_states, notify_study
from experiments.results.models import LAUNCHED_WITH
from experiments.studies.services.estimates import (
    Estimate,
    calibrate_unknown,
    engine_cells,
    expected_device_type,
    planned_cells,
    speed_model,
    study_bytes,
    study_estimate,
)
from experiments.studies.services.planning_turns import planning_turn
from experiments.studies.services.queue_load import queue_load
from experiments.studies.services.train_shares import train_share_warnings
from workers.errors import Problem, SpecError
from workers.spec import Grid, PlannedRun, expand

Blocks = Sequence[Mapping[str, Any]]
NAME_LENGTH, TAG_LENGTH, PRIORITIES = 200, 50, range(-100, 101)
HIGHEST_OF_MEMBERS = 10
"""Above it a study goes before everyone else's, which is for an admin to decide."""


@dataclass(frozen=True)
class Plan:
    """What a launch would do now, were the `missing` data here. `estimate` is of new runs, `bytes` of all.

    `warnings` are of what can be launched, but may not say what its author thinks. While it is `calibrating`, a trial
    goes on in the background, and a plan that is made again in some seconds knows more.
    """

    runs: int
    cells: int
    reused: int
    bytes: int
    estimate: Estimate
    missing: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()
    calibrating: bool = False


def study_plan(
    *, owner: User, blocks: Blocks, reuse: bool = True, requires: str = Device.CPU, calibrate: bool = False
) -> Plan:
    """With `calibrate`, a model of which nothing is known is tried out in the background."""
    require_launch(owner)
    with planning_turn(owner.pk, blocks):
        return plan_in_turn(owner, blocks, reuse, requires, calibrate)


def plan_in_turn(owner: User, blocks: Blocks, reuse: bool, requires: str, calibrate: bool) -> Plan:
    grid = expand(blocks, limit=settings.MAX_RUNS)
    existing = set(live_runs(hashes_of(grid.runs), requires).values_list("hash", flat=True)) if reuse else set()
    new = [run for run in grid.runs if run.hash not in existing]
    require_room(owner, len(new))
    return replace(make_plan(owner, grid, new, requires, calibrate), missing=tuple(missing_data_problems(blocks, grid)))


def make_plan(owner: User, grid: Grid, new: Sequence[PlannedRun], requires: str, calibrate: bool) -> Plan:
    cells, new_cells = planned_cells(grid.runs), planned_cells(new)
    device_type = expected_device_type(requires)
    speeds = speed_model(cells, device_type)
    return Plan(
        runs=len(grid.runs),
        cells=len(cells),
        reused=len(grid.runs) - len(new),
        bytes=study_bytes(cells=cells, speeds=speeds),
        estimate=study_estimate(
            cells=new_cells,
            speeds=speeds,
            requires=requires,
            load=queue_load(owner=owner, requires=requires, device_type=device_type),
        ),
        warnings=train_share_warnings([spec for spec, _ in reversed(engine_cells(cells))]),
        calibrating=calibrate and calibrate_unknown(new_cells, speeds),
    )


def require_room(owner: User, new: int) -> None:
    """Nobody fills the queue alone, with however many studies."""
    mine = Run.objects.filter(state__in=ACTIVE, studies__owner=owner, studies__cancelled=False)
    waiting = mine.values("pk").distinct().count()
    if waiting + new > settings.MAX_WAITING:
        raise SpecError([Problem("blocks", too_many_text(new, waiting))])


def too_many_text(new: int, waiting: int) -> str:
    return (
        f"{new:,} new runs and the {waiting:,} of yours that wait or run are more than the {settings.MAX_WAITING:,} "
        "one person may have at once. Narrow an axis, or wait until some are done."
    )


def study_launch(
    *,
    owner: User,
    name: str,
    blocks: Blocks,
    description: str = "",
    tags: Iterable[str] = (),
    priority: int = 0,
    requires: str = Device.CPU,
    reuse: bool = True,
    shuffle: bool = False,
    origin: str = "own",
    source: str = "",
    parent: Study | None = None,
) -> Study:
    require_launch(owner)
    labels = clean_tags(tags)
    with planning_turn(owner.pk, blocks):
        grid = valid_grid(blocks, field_problems(name=name, tags=labels, priority=priority, requires=requires))
    require_priority(owner, priority)
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        study = Study.objects.create(
            owner=owner,
            name=plain_text(name.strip()),
            description=plain_text(description),
            tags=labels,
            blocks=list(blocks),
            origin=origin,
            priority=priority,
            requires=requires,
            source=plain_text(source),
            parent=parent,
        )
        held = hold_live_runs(grid.runs, requires) if reuse else {}
        new = [planned for planned in grid.runs if planned.hash not in held]
        require_room(owner, len(new))
        new_runs = create_runs(new, shared=reuse, requires=requires)
        add_members(study, grid, held, new_runs, shuffle)
        notify_study(study.pk, "launched")
        audit_record(
            actor=owner,
            action="study.launch",
            subject=f"study {study.pk}",
            name=study.name,
            runs=len(grid.runs),
            **({"priority": priority} if priority else {}),
        )
        wake_up_after_commit(new=len(new_runs))
    return study


def require_priority(actor: User, priority: int, before: int = 0) -> None:
    """Whoever was given a high priority by an admin keeps it, and may lower it."""
    if priority > max(HIGHEST_OF_MEMBERS, before) and not actor.is_lab_admin:
        raise NotAllowedError(
            f"Only an admin may give a priority above {HIGHEST_OF_MEMBERS}: it goes before everyone else's. "
            "Choose a lower one, or ask an admin."
        )


def valid_grid(blocks: Blocks, problems: list[Problem]) -> Grid:
    """The grid, or every problem of the blocks and of the other fields at once."""
    try:
        grid = expand(blocks, limit=settings.MAX_RUNS)
    except SpecError as error:
        raise SpecError([*problems, *error.errors]) from None
    problems = [*problems, *missing_data_problems(blocks, grid)]
    if problems:
        raise SpecError(problems)
    return grid


def field_problems(*, name: str, tags: Sequence[str], priority: int, requires: str) -> list[Problem]:
    checks = [
        (not name.strip(), "name", "A study needs a name."),
        (len(name) > NAME_LENGTH, "name", f"At most {NAME_LENGTH} characters."),
        (any(len(tag) > TAG_LENGTH for tag in tags), "tags", f"At most {TAG_LENGTH} characters a tag."),
        (priority not in PRIORITIES, "priority", f"A whole number from {PRIORITIES[0]} to {PRIORITIES[-1]}."),
        (requires not in Device.values, "requires", f"Choose one of {', '.join(Device.values)}."),
    ]
    return [Problem(path, message) for wrong, path, message in checks if wrong]


def clean_tags(tags: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(plain_text(tag.strip()) for tag in tags if tag.strip()))


def hashes_of(planned: Iterable[PlannedRun]) -> list[str]:
    return [each.hash for each in planned]


def hold_live_runs(planned: Sequence[PlannedRun], requires: str) -> dict[str, int]:
    """Runs that exist already, by hash. One on its way to being cancelled is wanted again."""
    live = live_runs(hashes_of(planned), requires).select_for_update(of=("self",)).order_by("id")
    best = best_by_hash(live.only("pk", "hash", "state", "requires"), requires)
    held = {run_hash: run.pk for run_hash, run in best.items()}
    cancelling = list(
        Run.objects.filter(id__in=held.values(), cancel_requested=True).values_list("id", flat=True),
    )
    if cancelling:
        Run.objects.filter(id__in=cancelling).update(cancel_requested=False)
        notify_states(cancelling)
    return held


def create_runs(planned: Sequence[PlannedRun], *, shared: bool, requires: str) -> dict[str, int]:
    """With the versions of the apps among them kept: a run may wait for days, and be tried again after months."""
    versions_keep(planned=planned)
    runs = Run.objects.bulk_create(
        [
            Run(
                hash=each.hash,
                cell=each.cell,
                spec=each.spec.model_dump(mode="json"),
                seed=each.spec.seed,
                rounds_total=each.spec.rounds or 1,
                shared=shared,
                requires=requires,
                provenance={LAUNCHED_WITH: dict(each.sources)},
            )
            for each in planned
        ],
        batch_size=1000,
    )
    return {run.hash: run.pk for run in runs}


def add_members(study: Study, grid: Grid, held: Mapping[str, int], new_runs: Mapping[str, int], shuffle: bool) -> None:
    turns = list(range(len(grid.runs)))
    if shuffle:
        random.Random(study.pk).shuffle(turns)
    Membership.objects.bulk_create(
        [
            Membership(
                study=study,
                run_id=held.get(each.hash) or new_runs[each.hash],
                position=position,
                turn=turns[position],
                reused=each.hash in held,
            )
            for position, each in enumerate(grid.runs)
        ],
        batch_size=2000,
    )
