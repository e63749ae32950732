"""Guessing passwords is slow here: failed log-ins are in the audit log, and too many of them close the door a while.

It closes for a name from one address after a few tries, so that nobody can lock a colleague out from elsewhere; for an
address, and for a name from anywhere, after many. Unknown names are treated like known ones.
"""

from __future__ import annotations

from datetime import timedelta

from django.db.models import Count, Q
from django.db.models.functions import Now

from experiments.models import AuditEntry, User
from experiments.services.audit import audit_record
from experiments.services.numbers import plain_text

WINDOW = timedelta(minutes=15)
FAILED, ENTERED = "log-in.failed", "log-in"
MOST_TOGETHER, MOST_FROM_ADDRESS, MOST_FOR_NAME = 5, 30, 60
CLOSED = "Too many failed log-ins. Wait 15 minutes, or ask an admin for a new password."


def is_closed(*, name: str, address: str) -> bool:
    """Towards the narrow limit count failures since the name's last success from there; towards the others, all."""
    subject = subject_of(name)
    recent = AuditEntry.objects.filter(at__gt=Now() - WINDOW)
    entered = recent.filter(action=ENTERED, subject=subject, detail__address=address).order_by("-id").first()
    here = Q(subject=subject, detail__address=address) & Q(id__gt=entered.pk if entered else 0)
    counts = recent.filter(action=FAILED).aggregate(
        together=Count("id", filter=here),
        address=Count("id", filter=Q(detail__address=address)),
        name=Count("id", filter=Q(subject=subject)),
    )
    limits = {"together": MOST_TOGETHER, "address": MOST_FROM_ADDRESS, "name": MOST_FOR_NAME}
    return any(counts[each] >= most for each, most in limits.items())


def log_in_failed(*, name: str, address: str) -> None:
    audit_record(actor=None, action=FAILED, subject=subject_of(name), address=address)


def log_in_done(*, person: User, address: str) -> None:
    audit_record(actor=person, action=ENTERED, subject=subject_of(person.username), address=address)


def subject_of(name: str) -> str:
    """As it is stored: names differ in case only by accident."""
    return plain_text(name).casefold()[:150]
