"""Between a lab's database and files of stored runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from experiments.access.services.audit import audit_record
from experiments.core.database import Lock, lock_in_transaction
from experiments.models import Device, Membership, Metric, Round, Run, RunState, Study, User
from experiments.presets.preset import Preset
from experiments.queue.services.runs import LIVE
from experiments.results.live.notify import notify_study
from experiments.results.models import LAUNCHED_WITH
from experiments.results.services.curves import values_write
from experiments.stored_runs.files import StoredRun, is_stored
from workers.spec.identity import FIRST_ENGINE

TAGS = ("reproduction", "reproduction-aside")
"""Of the studies whose runs are stored. An aside looks for the reason of a difference."""
ORIGIN = "stored"
IMPORTED = "imported"
RUNS_AT_ONCE = 100
DESCRIPTION = (
    "Done runs that were computed elsewhere and brought back from stored results: curves, but neither models nor "
    "numbers of single clients. A study that asks for one of them holds it and does not compute it again."
)


@dataclass(frozen=True)
class LoadReport:
    """Of the runs in a file: `new` ones, ones that the lab `had` done, and ones that it is computing just now."""

    study: Study
    new: int
    had: int
    computing: int


def collect_runs(preset: Preset) -> list[StoredRun]:
    """Every done run of the lab's studies that have the preset's name and one of the tags among theirs."""
    studies = Study.objects.filter(tags__overlap=list(TAGS)).filter(tags__contains=[preset.name])
    runs = Run.objects.filter(studies__in=studies, state=RunState.DONE).distinct().order_by("pk")
    own = [run for run in runs if IMPORTED not in run.provenance and "app" not in run.spec]
    curves = stored_curves([run.pk for run in own])
    return [stored_run(run, curves.get(run.pk, {})) for run in own]


def stored_curves(runs: Sequence[int]) -> dict[int, dict[str, dict[int, float]]]:
    curves: dict[int, dict[str, dict[int, float]]] = {}
    rows = Metric.objects.filter(run_id__in=runs).order_by("run_id", "name", "round")
    for run, name, number, value in rows.values_list("run_id", "name", "round", "value").iterator():
        if is_stored(name):
            curves.setdefault(run, {}).setdefault(name, {})[number] = value
    return curves


def stored_run(run: Run, curves: Mapping[str, Mapping[int, float]]) -> StoredRun:
    version = run.launch_sources.get("engine_version", run.provenance.get("engine_version", FIRST_ENGINE))
    findings = {name: finding for name, finding in run.findings.items() if name != "confusion"}
    return StoredRun(
        hash=run.hash,
        cell=run.cell,
        seed=run.seed,
        engine_version=version,
        engine=run.engine,
        device_type=run.device_type,
        finished=run.finished.isoformat() if run.finished else "",
        spec=run.spec,
        provenance=run.provenance,
        findings=findings,
        curves=curves,
    )


def load_runs(*, owner: User, preset: Preset, stored: Sequence[StoredRun]) -> LoadReport:
    """As done runs of one study, marked as imported; what the lab has already becomes a member of that study."""
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        study = stored_study(owner, preset, stored)
        live = dict(
            Run.objects.filter(hash__in=[run.hash for run in stored], shared=True, state__in=LIVE)
            .order_by("-requires")
            .values_list("hash", "state")
        )
        new = [run for run in stored if run.hash not in live]
        create_done_runs(new)
        members = add_done_members(study, stored)
        notify_study(study.pk, "launched")
        audit_record(actor=owner, action="runs.load", subject=f"study {study.pk}", name=study.name, runs=len(new))
    computing = sum(state != RunState.DONE for state in live.values())
    return LoadReport(study, len(new), members - len(new), computing)


def stored_study(owner: User, preset: Preset, stored: Sequence[StoredRun]) -> Study:
    """The preset's study of stored runs, made at the first time; its blocks are the cells of all that is stored."""
    study, _ = Study.objects.get_or_create(
        origin=f"{preset.name}:{ORIGIN}",
        defaults={
            "owner": owner,
            "name": f"{preset.title} (stored runs)"[:200],
            "description": DESCRIPTION,
            "tags": ["preset", preset.name, ORIGIN],
            "blocks": [],
        },
    )
    study.blocks = cell_blocks(stored)
    study.save(update_fields=["blocks"])
    return study


def cell_blocks(stored: Iterable[StoredRun]) -> list[dict[str, Any]]:
    seeds: dict[str, list[int]] = {}
    specs: dict[str, Mapping[str, Any]] = {}
    for run in stored:
        seeds.setdefault(run.cell, []).append(run.seed)
        specs.setdefault(run.cell, run.spec)
    return [{**as_block(without_seed(specs[cell])), "seeds": sorted(set(own))} for cell, own in seeds.items()]


def without_seed(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in spec.items() if name != "seed"}


def as_block(value: Any) -> Any:
    """A value that is itself a list is written as an axis of that one value."""
    if isinstance(value, Mapping):
        return {name: as_block(each) for name, each in value.items()}
    return [value] if isinstance(value, list) else value


def create_done_runs(stored: Sequence[StoredRun]) -> None:
    today = timezone.now().date().isoformat()
    for first in range(0, len(stored), RUNS_AT_ONCE):
        some = stored[first : first + RUNS_AT_ONCE]
        pairs = list(zip(Run.objects.bulk_create([done_run(run, today) for run in some]), some, strict=True))
        values_write(
            (run.pk, number, name, value)
            for run, own in pairs
            for name, curve in own.curves.items()
            for number, value in curve.items()
        )
        Round.objects.bulk_create([Round(run=run, round=number) for run, own in pairs for number in all_rounds(own)])


def done_run(stored: StoredRun, today: str) -> Run:
    finished = datetime.fromisoformat(stored.finished) if stored.finished else timezone.now()
    sources = stored.provenance.get(LAUNCHED_WITH, {})
    note = f"from stored results, on {today}: curves only"
    return Run(
        hash=stored.hash,
        cell=stored.cell,
        spec=dict(stored.spec),
        seed=stored.seed,
        state=RunState.DONE,
        rounds_done=max(all_rounds(stored), default=0),
        rounds_total=stored.spec["rounds"],
        engine=stored.engine,
        requires=Device.CPU if stored.device_type in ("", "cpu") else Device.GPU,
        device_type=stored.device_type,
        provenance={**stored.provenance, LAUNCHED_WITH: sources, IMPORTED: note},
        findings=dict(stored.findings),
        started=finished - timedelta(seconds=float(stored.provenance.get("seconds") or 0.0)),
        finished=finished,
    )


def all_rounds(stored: StoredRun) -> list[int]:
    return sorted({number for curve in stored.curves.values() for number in curve})


def add_done_members(study: Study, stored: Sequence[StoredRun]) -> int:
    """How many of them are done here; each becomes a member of the study once."""
    hashes = [run.hash for run in stored]
    done = dict(
        Run.objects.filter(hash__in=hashes, state=RunState.DONE).order_by("-shared", "-pk").values_list("hash", "pk")
    )
    before = set(Membership.objects.filter(study=study).values_list("run_id", flat=True))
    wanted = list(dict.fromkeys(done[each] for each in hashes if each in done))
    places = enumerate((run for run in wanted if run not in before), start=len(before))
    Membership.objects.bulk_create(
        [Membership(study=study, run_id=run, position=place, turn=place, reused=True) for place, run in places],
        batch_size=2000,
    )
    return len(wanted)
