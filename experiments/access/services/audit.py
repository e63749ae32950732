"""Who did what: one entry in the transaction of the deed, so that neither exists without the other."""

from __future__ import annotations

from typing import Any

from experiments.core.json_values import json_safe, plain_text
from experiments.models import AuditEntry, User

SUBJECT_LENGTH = 200


def audit_record(*, actor: User | None, action: str, subject: str, **detail: Any) -> AuditEntry:
    """`action` is a dotted word such as `study.cancel`, `subject` a name that outlives the thing; no actor: the lab."""
    return AuditEntry.objects.create(
        actor=actor,
        actor_name=actor.username if actor else "",
        action=action,
        subject=plain_text(subject)[:SUBJECT_LENGTH],
        detail=json_safe(detail),
    )
