"""The audit log, filtered, with what still exists of the things that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from experiments.models import AuditEntry, Run, Study

PAGE = 100
NUMBERED = re.compile(r"^(study|run) (\d{1,18})$")


@dataclass(frozen=True)
class AuditFilters:
    """`action` is a whole word such as `study.launch`, or its first part for all of that kind."""

    action: str = ""
    person: str = ""
    text: str = ""


def audit_page(filters: AuditFilters, *, before: int = 0) -> tuple[list[AuditEntry], int | None]:
    """The latest first; and the number to go on from, where there are earlier ones."""
    entries = filter_audit(filters).order_by("-pk")
    rows = list((entries.filter(pk__lt=before) if before else entries)[: PAGE + 1])
    return rows[:PAGE], rows[PAGE - 1].pk if len(rows) > PAGE else None


def filter_audit(filters: AuditFilters) -> QuerySet[AuditEntry]:
    entries = AuditEntry.objects.all()
    if filters.action:
        entries = entries.filter(Q(action=filters.action) | Q(action__startswith=f"{filters.action}."))
    if filters.person:
        entries = entries.filter(actor_name=filters.person)
    for word in filters.text.split():
        entries = entries.filter(Q(subject__icontains=word) | Q(detail__icontains=word))
    return entries


def audit_actions() -> dict[str, list[str]]:
    """Every action that was ever done, by its kind."""
    kinds: dict[str, list[str]] = {}
    for action in AuditEntry.objects.order_by("action").values_list("action", flat=True).distinct():
        kinds.setdefault(action.partition(".")[0], []).append(action)
    return kinds


def audit_people() -> list[str]:
    names = AuditEntry.objects.exclude(actor_name="").order_by("actor_name").values_list("actor_name", flat=True)
    return list(names.distinct())


def existing_subjects(entries: Iterable[AuditEntry]) -> set[str]:
    """Of the studies and runs that they name, those that are still there."""
    matches = [match for entry in entries if (match := NUMBERED.match(entry.subject))]
    numbers = {kind: [int(match[2]) for match in matches if match[1] == kind] for kind in ("study", "run")}
    studies = Study.objects.filter(pk__in=numbers["study"]).values_list("pk", flat=True)
    runs = Run.objects.filter(pk__in=numbers["run"]).values_list("pk", flat=True)
    return {*(f"study {each}" for each in studies), *(f"run {each}" for each in runs)}
