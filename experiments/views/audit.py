"""Who did what, for admins."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from experiments.models import AuditEntry
from experiments.services.numbers import plain_text
from experiments.views.parts import whole_number
from experiments.views.people import person

PAGE = 100


@require_GET
def audit(request: HttpRequest) -> HttpResponse:
    if not person(request).is_lab_admin:
        raise PermissionDenied
    entries = AuditEntry.objects.order_by("-pk")
    action = plain_text(request.GET.get("action", ""))
    if action:
        entries = entries.filter(action=action)
    if before := whole_number(request.GET.get("before"), 0):
        entries = entries.filter(pk__lt=before)
    rows = list(entries[: PAGE + 1])
    more = rows[PAGE - 1].pk if len(rows) > PAGE else None
    actions = AuditEntry.objects.order_by("action").values_list("action", flat=True).distinct()
    return render(
        request, "pages/audit.html", {"entries": rows[:PAGE], "more": more, "action": action, "actions": actions}
    )
