"""Runs of another tool, or of a table, become logged runs: all of a request or none, each once however often it comes.

What a run is called in its source tells it again. One that is there with the same content stays as it is; one whose
content is another by now is refused, because numbers of a done run do not change: its study is taken back first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import transaction

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_launch, require_manage
from experiments.core.database import Lock, lock_in_transaction
from experiments.core.errors import ConflictError
from experiments.core.json_values import plain_text
from experiments.logged_runs.services import (
    ORIGIN,
    LoggedRound,
    LoggedStart,
    add_members,
    create_run,
    digest,
    logged_spec,
    logged_study,
    require_room_in,
    round_problems,
    run_identity,
    start_problems,
)
from experiments.models import Outcome, Run, RunState, Study, User
from experiments.queue.services.leases import end_attempt, insert_rounds
from experiments.results.live.notify import notify_study
from experiments.studies.services.deletion import study_delete
from experiments.studies.services.launch import require_room
from workers.engine.records import RoundRecord
from workers.errors import Problem, SpecError

NEW, KNOWN, CHANGED = "new", "known", "changed"
CHANGED_WORDS = "This run is in the lab with other content. Take its study back first, then import it anew."
UNFINISHED = "It did not finish where it was computed."
MOST_RUNS, MOST_VALUES, ROUNDS_AT_ONCE = 1000, 100_000, 5000
LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class SourceRun:
    """A run as its source has it; `name` is unique in its study. Without a seed one is made of the name."""

    study: str
    name: str
    config: Mapping[str, bool | int | float | str]
    seed: int | None
    rounds: Sequence[LoggedRound]
    failed: bool = False


@dataclass(frozen=True)
class ImportedRun:
    """What became, or would become, of a source's run; `run` and `holder` are numbers of this lab."""

    source: SourceRun
    start: LoggedStart
    outcome: str
    run: int | None = None
    holder: int | None = None


def results_import(
    *, owner: User, kind: str, source: str, runs: Sequence[SourceRun], dry_run: bool = False
) -> list[ImportedRun]:
    """`kind` and `source` say where they come from. A dry run writes nothing, and tells which ones have changed."""
    require_launch(owner)
    if problems := source_problems(runs):
        raise SpecError(problems)
    starts = [logged_start(kind, source, each) for each in runs]
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        outcomes = [look_up(owner, run, start) for run, start in zip(runs, starts, strict=True)]
        if dry_run:
            return outcomes
        if changed := [place for place, each in enumerate(outcomes) if each.outcome == CHANGED]:
            raise SpecError([Problem(f"runs.{place}", f"{runs[place].name}: {CHANGED_WORDS}") for place in changed])
        new = [each for each in outcomes if each.outcome == NEW]
        require_room(owner, len(new))
        by_study: dict[str, list[ImportedRun]] = {}
        for each in new:
            by_study.setdefault(each.start.study, []).append(each)
        studies = {name: bring_in(owner, name, own, plain_text(source)) for name, own in by_study.items()}
    made = {each.start.key: each for own in studies.values() for each in own}
    return [made.get(each.start.key, each) for each in outcomes]


def source_problems(runs: Sequence[SourceRun]) -> list[Problem]:
    problems: list[Problem] = []
    seen: set[tuple[str, str]] = set()
    if not 0 < len(runs) <= MOST_RUNS:
        problems.append(Problem("runs", f"1 to {MOST_RUNS:,} runs at once: send the others after them."))
    if sum(len(each.metrics) for run in runs for each in run.rounds) > MOST_VALUES:
        problems.append(Problem("runs", f"At most {MOST_VALUES:,} values at once: send the others after them."))
    for place, run in enumerate(runs):
        if not run.name.strip():
            problems.append(Problem(f"runs.{place}.name", "A run needs the name that it has in its source."))
        if (run.study, run.name) in seen:
            problems.append(Problem(f"runs.{place}.name", f"{run.name} is there twice."))
        seen.add((run.study, run.name))
        own = [*start_problems(logged_start("", "", run)), *round_problems(run.rounds)]
        problems += [Problem(f"runs.{place}.{each.path}".rstrip("."), each.message) for each in own]
    return problems


def logged_start(kind: str, source: str, run: SourceRun) -> LoggedStart:
    """A config's `seed` is the seed. A run without any config is a cell of its own, named by `run`."""
    config, seed = dict(run.config), run.seed
    config = {key: plain_number(value) for key, value in config.items()}
    own = config.get("seed")
    if seed is None and isinstance(own, int) and not isinstance(own, bool) and 0 <= own <= LARGEST_SEED:
        seed = own
        del config["seed"]
    if seed is None:
        # Stable, and another one for each: runs of one config without a seed count as repetitions.
        seed = int(digest([run.name])[:7], 16) if config else 0
    spec_start = LoggedStart(
        study=run.study,
        script=run.study[:100],
        config=config or {"run": run.name},
        seed=seed,
        key=f"import {digest([kind, run.study, run.name])}",
        provenance={},
    )
    content = digest(
        [logged_spec(spec_start), [[each.round, sorted(each.metrics.items())] for each in run.rounds], run.failed]
    )
    about = {"imported": plain_text(kind), "source": plain_text(source), "run": plain_text(run.name)}
    about["content"] = content
    return LoggedStart(**{**vars(spec_start), "provenance": about})


def plain_number(value: bool | int | float | str) -> bool | int | float | str:
    """1.0 and 1 are one value of an axis, whichever language wrote it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def look_up(owner: User, run: SourceRun, start: LoggedStart) -> ImportedRun:
    before = Run.objects.filter(hash=run_identity(owner, start.key)).first()
    if before is None:
        return ImportedRun(run, start, NEW)
    study = Study.every.filter(memberships__run=before).order_by("pk").first()
    if study is None or study.deleting:
        raise ConflictError(f"{run.name} is still being deleted with its study: try again in a moment.")
    same = before.provenance["logged"].get("content") == start.provenance["content"]
    return ImportedRun(run, start, KNOWN if same else CHANGED, before.pk, study.pk)


def bring_in(owner: User, name: str, planned: Sequence[ImportedRun], source: str) -> list[ImportedRun]:
    """The new runs of one study."""
    study = logged_study(owner, name)
    require_room_in(study, len(planned))
    runs = [create_run(run_identity(owner, each.start.key), logged_spec(each.start), each.start) for each in planned]
    add_members(study, runs)
    for run, each in zip(runs, planned, strict=True):
        fill_run(run, each.source)
    notify_study(study.pk, "launched")
    audit_record(actor=owner, action="study.import", subject=f"study {study.pk}", source=source, runs=len(runs))
    return [replace(each, run=run.pk, holder=study.pk) for run, each in zip(runs, planned, strict=True)]


def fill_run(run: Run, source: SourceRun) -> None:
    records = [RoundRecord(round=each.round, metrics=dict(each.metrics)) for each in source.rounds]
    for first in range(0, len(records), ROUNDS_AT_ONCE):
        insert_rounds(run.pk, records[first : first + ROUNDS_AT_ONCE])
    run.refresh_from_db()
    run.rounds_done = max((each.round for each in source.rounds), default=0)
    run.rounds_total = max(1, run.rounds_done)
    run.save(update_fields=["rounds_done", "rounds_total"])
    state, outcome = (RunState.FAILED, Outcome.FAILED) if source.failed else (RunState.DONE, Outcome.DONE)
    end_attempt(run, state, outcome, UNFINISHED if source.failed else "")


def import_undo(*, study: Study, actor: User) -> int:
    """Deletes a study in which every run was imported; how many runs go. What scripts logged is never lost that way."""
    require_manage(actor, study)
    provenances = list(study.runs.order_by("pk").values_list("pk", "provenance"))
    others = [pk for pk, provenance in provenances if "imported" not in (provenance or {}).get("logged", {})]
    if study.origin != ORIGIN or others or not provenances:
        which = f"run {others[0]} of it was" if others else "its runs were"
        raise ConflictError(f"Study {study.pk} is no import: {which} not imported. Nothing was deleted.")
    return study_delete(study=study, actor=actor)
