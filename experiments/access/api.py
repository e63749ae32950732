"""GET /audit: who launched, cancelled and deleted what, and who got which rights. For admins."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from ninja import Query, Router
from pydantic import Field

from experiments.access.services.rights import require_admin
from experiments.api.paging import Paging, find_sorting, integer_key, read_page
from experiments.api.schemas import Answer, Page, error_responses, example_config
from experiments.core.json_values import plain_text
from experiments.models import AuditEntry
from experiments.web.requests import current_user

router = Router(tags=["lab"])


class AuditAnswer(Answer):
    model_config = example_config(
        id=5,
        at="2026-03-01T12:00:00Z",
        actor="mira",
        action="study.launch",
        subject="study 12",
        detail={"name": "FedProx against FedAvg", "runs": 12},
    )

    id: int
    """Its number."""
    at: datetime
    """When it was done."""
    actor: str
    """Who did it; empty where the lab itself did."""
    action: str
    """What was done, such as study.launch, study.delete or token.revoke."""
    subject: str
    """To what."""
    detail: dict[str, Any]
    """What else is worth keeping."""


class AuditFilter(Paging):
    action: str = Field("", max_length=50, description="Only this deed.", examples=["study.delete"])
    actor: str = Field("", max_length=150, description="Only this person's.", examples=["mira"])


@router.get(
    "/audit", response={200: Page[AuditAnswer], **error_responses(403)}, summary="Who did what, the latest first"
)
def audit(request: HttpRequest, filters: Query[AuditFilter]) -> Any:
    """For admins."""
    require_admin(current_user(request))
    fields = {"action": filters.action, "actor_name": filters.actor}
    entries = AuditEntry.objects.filter(**{name: plain_text(text) for name, text in fields.items() if text})
    count, following, page = read_page(entries, filters, find_sorting("-id", {"id": integer_key("id")}))
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
