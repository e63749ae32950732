"""The audit log, for admins: filters that stay in the address, and links to what is still there."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from experiments.access.selectors.audit import (
    AuditFilters,
    audit_actions,
    audit_page,
    audit_people,
    existing_subjects,
)
from experiments.core.json_values import plain_text
from experiments.web.requests import current_user, whole_number

MOST_VALUES = 8


@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    if not current_user(request).is_lab_admin:
        raise PermissionDenied
    data = {name: plain_text(request.GET.get(name, "")).strip() for name in ("action", "person", "q")}
    filters = AuditFilters(action=data["action"], person=data["person"], text=data["q"])
    entries, more = audit_page(filters, before=whole_number(request.GET.get("before"), 0))
    there = existing_subjects(entries)
    context = {
        "rows": [(entry, subject_address(entry.subject, there), detail_facts(entry.detail)) for entry in entries],
        "more": more,
        "filters": filters,
        "actions": audit_actions(),
        "people": audit_people(),
    }
    return render(request, "pages/audit.html", context)


def subject_address(subject: str, there: Collection[str]) -> str:
    """Where the thing is seen; nothing where it is gone, or has no page."""
    kind, _, name = subject.partition(" ")
    if subject in there:
        return reverse(kind, args=[int(name)])
    pages = {
        "user": reverse("people"),
        "worker": reverse("workers"),
        "app": f"{reverse('apps')}#app-{name}",
        "data": f"{reverse('datasets')}#dataset-{name.removeprefix('set ')}",
    }
    return pages.get(kind, "")


def detail_facts(detail: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), value_text(value)) for name, value in detail.items() if value not in ("", None)]


def value_text(value: Any) -> str:
    if not isinstance(value, list):
        return str(value)
    rest = f" and {len(value) - MOST_VALUES:,} more" if len(value) > MOST_VALUES else ""
    return ", ".join(map(str, value[:MOST_VALUES])) + rest
