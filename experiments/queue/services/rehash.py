"""Queued runs that cannot go on as they began: after an upgrade, or where their type of device has gone.

At an upgrade they become the runs that the same specs are now. Whatever is done keeps its identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from experiments.core.database import Lock, lock_in_transaction
from experiments.models import Attempt, Device, Run, RunState
from experiments.queue.selectors.workers import living_device_types
from experiments.queue.services.retry import swap_member
from experiments.queue.services.runs import PROGRESS, equal_live_runs, forget_progress
from experiments.results.live.notify import notify_states
from experiments.results.models import LAUNCHED_WITH
from experiments.results.selectors.identity import changed_runs
from workers.spec import PlannedRun


def queued_runs_rehash() -> int:
    """Returns how many have another identity. Those whose data or plugins changed since their launch are left as they

    are, to be refused with what changed: that was no upgrade.
    """
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        queued = Run.objects.filter(state=RunState.QUEUED).select_for_update(skip_locked=True, of=("self",))
        changed = changed_runs(queued.order_by("pk"))
        upgraded = {run: new for run, new in changed.items() if is_upgrade(run.launch_sources, new.sources)}
        for run, planned in upgraded.items():
            rehash_run(run, planned)
    return len(upgraded)


def is_upgrade(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Only Tributary's own part changed, and to a later engine: a process of an older version changes nothing back.

    The first versions wrote nothing down: what they queued is taken for upgraded.
    """
    if not before:
        return True
    if before["engine_version"] > now["engine_version"]:
        return False
    stamps = [(before["versions"].get(kind), stamp) for kind, stamp in now["versions"].items()]
    plugins_same = all(old == new for old, new in stamps if isinstance(old, str) or isinstance(new, str))
    return bool(before["data"] == now["data"]) and plugins_same


def rehash_run(run: Run, planned: PlannedRun) -> None:
    successor = Run(pk=run.pk, hash=planned.hash, requires=run.requires)
    equal = equal_live_runs([successor]).get(successor) if run.shared else None
    if equal is not None:
        for study in list(run.studies.all()):
            swap_member(study, run, equal, reused=True)
        return
    forget_progress(run)
    run.hash, run.cell, run.spec = planned.hash, planned.cell, planned.spec.model_dump(mode="json")
    run.provenance = {**run.provenance, LAUNCHED_WITH: dict(planned.sources)}
    run.save(update_fields=["hash", "cell", "spec", "provenance", *PROGRESS])
    notify_states([run.pk])


def stranded_device_types() -> set[str]:
    """Types of device that queued runs began on, which need not be, and that no worker has now."""
    begun = Run.objects.filter(state=RunState.QUEUED, device_type__gt="", requires=Device.CPU)
    return set(begun.order_by().values_list("device_type", flat=True).distinct()) - living_device_types()


def stranded_runs_restart(*, device_type: str) -> int:
    """Queued runs that began on a type of device which no worker has any more start anew wherever there is one.

    Half a curve of each would be neither's. What requires a GPU goes on waiting for it.
    """
    queued = Run.objects.filter(state=RunState.QUEUED, device_type=device_type, requires=Device.CPU)
    with transaction.atomic():
        runs = list(queued.select_for_update(skip_locked=True, of=("self",)))
        for run in runs:
            forget_progress(run)
            run.save(update_fields=PROGRESS)
            note = f"No worker with a {device_type} device is left: the run starts anew on another."
            last = Attempt.objects.filter(run=run).order_by("-number").first()
            if last is not None:
                last.reason = f"{last.reason}\n{note}".strip()
                last.save(update_fields=["reason"])
        notify_states([run.pk for run in runs])
    return len(runs)
