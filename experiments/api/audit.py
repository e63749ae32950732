"""GET /audit: who launched, cancelled and deleted what, and who got which rights. For admins."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import Field

from experiments.api.auth import person
from experiments.api.lab_schemas import AuditAnswer
from experiments.api.paging import Paging, page_of, sorting, whole_key
from experiments.api.schemas import Page, refusals
from experiments.models import AuditEntry
from experiments.services.numbers import plain_text
from experiments.services.rights import require_admin

router = Router(tags=["lab"])


class AuditFilter(Paging):
    action: str = Field("", max_length=50, description="Only this deed.", examples=["study.delete"])
    actor: str = Field("", max_length=150, description="Only this person's.", examples=["mira"])


@router.get("/audit", response={200: Page[AuditAnswer], **refusals(403)}, summary="Who did what, the latest first")
def audit(request: HttpRequest, wanted: Query[AuditFilter]) -> Any:
    """For admins."""
    require_admin(person(request))
    given = {"action": wanted.action, "actor_name": wanted.actor}
    entries = AuditEntry.objects.filter(**{name: plain_text(text) for name, text in given.items() if text})
    count, following, page = page_of(entries, wanted, sorting("-id", {"id": whole_key("id")}))
    return {"count": count, "next": following, "items": [entry_answer(each) for each in page]}


def entry_answer(entry: AuditEntry) -> dict[str, Any]:
    return {
        "id": entry.pk,
        "at": entry.at,
        "actor": entry.actor_name,
        "action": entry.action,
        "subject": entry.subject,
        "detail": entry.detail,
    }
