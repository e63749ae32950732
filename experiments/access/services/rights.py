"""Who may do what: viewers read, members launch and manage their own, admins manage everything."""

from __future__ import annotations

from django.db.models import QuerySet

from experiments.core.errors import NotAllowedError
from experiments.models import Run, Study, User

VIEWERS_READ = "A viewer reads. Ask an admin for the role member to launch studies."


def may_manage(actor: User, study: Study) -> bool:
    return actor.is_lab_admin or (actor.may_launch and study.owner_id == actor.pk)


def require_launch(actor: User) -> None:
    if not actor.may_launch:
        raise NotAllowedError(VIEWERS_READ)


def require_manage(actor: User, study: Study) -> None:
    if not may_manage(actor, study):
        raise NotAllowedError("Only the study's owner or an admin may do this.")


def require_admin(actor: User) -> None:
    if not actor.is_lab_admin:
        raise NotAllowedError("Only an admin may do this.")


def require_every_holder(actor: User, run: Run) -> None:
    """Ending a run ends it for each study that waits for it, so all of them must be the person's own."""
    holders = holders_of(run).filter(cancelled=False).select_related("owner")
    if foreign := [study for study in holders if not may_manage(actor, study)]:
        raise NotAllowedError(f"Study {foreign[0].pk} of {foreign[0].owner} waits for this run too.")
    if not holders:
        require_some_holder(actor, run)


def require_some_holder(actor: User, run: Run) -> None:
    if not any(may_manage(actor, study) for study in holders_of(run)):
        raise NotAllowedError("Only the owner of one of the run's studies or an admin may do this.")


def holders_of(run: Run) -> QuerySet[Study]:
    return Study.objects.filter(memberships__run=run)
