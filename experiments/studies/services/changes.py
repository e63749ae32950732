"""What a person does to a launched study. Only runs that no other study waits for are ever touched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.db.models.functions import Now

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_manage
from experiments.core.database import Lock, lock_in_transaction
from experiments.core.errors import ConflictError, GoneError
from experiments.core.json_values import plain_text
from experiments.models import Membership, Run, RunState, Study, User
from experiments.queue.services.retry import relaunch_runs, swap_member
from experiments.queue.services.runs import ACTIVE, UNSUCCESSFUL, cancel_runs, equal_live_runs, requeue_runs
from experiments.queue.services.wake_up import wake_up_after_commit
from experiments.results.live.notify import notify_states, notify_study
from experiments.results.selectors.identity import changed_runs
from experiments.results.selectors.runs import first_line
from experiments.studies.selectors.studies import texts_version
from experiments.studies.services.launch import clean_tags, field_problems, require_priority
from workers.errors import SpecError
from workers.spec import LOGGED

DELETED = "The study was deleted meanwhile."
CHANGED_MEANWHILE = "Somebody changed this study after you opened it. Nothing was overwritten."


def study_cancel(*, study: Study, actor: User) -> Study:
    """Queued runs are cancelled at once, running ones within seconds."""
    require_manage(actor, study)
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        study_set(study, cancelled=True)
        stopped = cancel_unwanted(Run.objects.filter(studies=study))
        audit_record(actor=actor, action="study.cancel", subject=f"study {study.pk}", name=study.name, runs=stopped)
        notify_study(study.pk, "cancelled")
    return refresh_study(study)


def study_pause(*, study: Study, actor: User) -> Study:
    """Queued runs are held back; running ones go on."""
    require_manage(actor, study)
    with transaction.atomic():
        study_set(study, paused=True)
        audit_record(actor=actor, action="study.pause", subject=f"study {study.pk}", name=study.name)
        notify_study(study.pk, "paused")
    return refresh_study(study)


def study_resume(*, study: Study, actor: User) -> Study:
    require_manage(actor, study)
    with transaction.atomic():
        study_set(study, paused=False)
        audit_record(actor=actor, action="study.resume", subject=f"study {study.pk}", name=study.name)
        notify_study(study.pk, "resumed")
        wake_up_after_commit()
    return refresh_study(study)


def study_retry(*, study: Study, actor: User, reason: str | None = None) -> int:
    """Queues failed and cancelled runs again, each from its last checkpoint; returns how many.

    Those whose data, code or engine changed since are launched as what they are now. With a `reason` only those that
    failed with this first line.
    """
    require_manage(actor, study)
    with transaction.atomic():
        lock_in_transaction(Lock.HOLDERS)
        study_set(study, cancelled=False)
        ended = unsuccessful_runs(study, reason)
        changed = changed_runs(ended)
        relaunch_runs(changed, Study.objects.filter(pk=study.pk))
        ended = [run for run in ended if run not in changed]
        replaced = equal_live_runs([run for run in ended if run.shared])
        for run, live in replaced.items():
            swap_member(study, run, live, reused=True)
        again = len(changed) + requeue_runs([run.pk for run in ended if run not in replaced])
        again += withdraw_cancel(Run.objects.filter(studies=study) if reason is None else replaced.values())
        subject = f"study {study.pk}"
        audit_record(actor=actor, action="study.retry", subject=subject, name=study.name, runs=again)
        if changed:
            audit_record(actor=actor, action="study.relaunch", subject=subject, name=study.name, runs=len(changed))
        notify_study(study.pk, "retried")
        wake_up_after_commit()
    return again


def unsuccessful_runs(study: Study, reason: str | None) -> list[Run]:
    ended = Run.objects.filter(studies=study, state__in=UNSUCCESSFUL).exclude(spec__has_key=LOGGED).order_by("id")
    if reason is None:
        return list(ended)
    return [run for run in ended.filter(state=RunState.FAILED) if first_line(run.reason) == reason]


def withdraw_cancel(runs: Iterable[Run] | Iterable[int]) -> int:
    """Those that were asked to stop and have not yet."""
    cancelling = Run.objects.filter(pk__in=runs, state=RunState.RUNNING, cancel_requested=True)
    ids = run_ids(cancelling)
    cancelling.update(cancel_requested=False)
    notify_states(ids)
    return len(ids)


def study_update(
    *,
    study: Study,
    actor: User,
    name: str | None = None,
    description: str | None = None,
    tags: Iterable[str] | None = None,
    priority: int | None = None,
    version: str | None = None,
) -> Study:
    """Changes what is given and nothing else.

    `version` is the `texts_version` that a person saw before they wrote: where it is another by now, nothing changes.
    """
    require_manage(actor, study)
    with transaction.atomic():
        refresh_study(study, Study.objects.select_for_update(no_key=True))
        if version not in (None, texts_version(study)):
            raise ConflictError(CHANGED_MEANWHILE)
        before = study.priority
        study.name = study.name if name is None else plain_text(name.strip())
        study.description = study.description if description is None else plain_text(description)
        study.tags = study.tags if tags is None else clean_tags(tags)
        study.priority = study.priority if priority is None else priority
        if problems := field_problems(
            name=study.name, tags=study.tags, priority=study.priority, requires=study.requires
        ):
            raise SpecError(problems)
        require_priority(actor, study.priority, before)
        study.save(update_fields=["name", "description", "tags", "priority"])
        if study.priority != before:
            detail = {"name": study.name, "before": before, "priority": study.priority}
            audit_record(actor=actor, action="study.priority", subject=f"study {study.pk}", **detail)
        notify_study(study.pk, "edited")
    return study


def cancel_unwanted(runs: QuerySet[Run]) -> int:
    """Those that only cancelled studies hold; returns how many."""
    holders = Membership.objects.filter(run=OuterRef("pk"), study__cancelled=False)
    return cancel_runs(run_ids(runs.filter(state__in=ACTIVE).exclude(Exists(holders))))


def run_ids(runs: QuerySet[Run]) -> list[int]:
    return list(runs.order_by(F("pk")).values_list("pk", flat=True))


def study_set(study: Study, **fields: Any) -> None:
    if not Study.objects.filter(pk=study.pk).update(**fields):
        raise GoneError(DELETED)


def refresh_study(study: Study, rows: QuerySet[Study] | None = None) -> Study:
    try:
        study.refresh_from_db(from_queryset=rows)
    except Study.DoesNotExist:
        raise GoneError(DELETED) from None
    if study.deleting:
        raise GoneError(DELETED)
    return study


def study_archive(*, study: Study, actor: User) -> Study:
    """Archived twice, it keeps the first date."""
    require_manage(actor, study)
    with transaction.atomic():
        if Study.objects.filter(pk=study.pk, archived=None).update(archived=Now()):
            audit_record(actor=actor, action="study.archive", subject=f"study {study.pk}", name=study.name)
            notify_study(study.pk, "archived")
    return refresh_study(study)


def study_restore(*, study: Study, actor: User) -> Study:
    require_manage(actor, study)
    with transaction.atomic():
        if Study.objects.filter(pk=study.pk, archived__isnull=False).update(archived=None):
            audit_record(actor=actor, action="study.restore", subject=f"study {study.pk}", name=study.name)
            notify_study(study.pk, "restored")
    return refresh_study(study)
