"""Launching once, however often it is sent: a launch with a key answers a repeat with the same study."""

from __future__ import annotations

import hashlib
import json

from django.db import transaction

from experiments.models import LaunchKey, Study, User
from experiments.services.definition import StudyDefinition, definition_launch
from experiments.services.errors import ConflictError
from workers.errors import Problem, SpecError

HEADER = "Idempotency-Key"
OTHER = "This key was used for another launch: take a new key for each launch, and the same one only to send it again."
GONE = "The study that this key launched was deleted. To launch it anew, take a new key."


def launch_once(*, owner: User, key: str, definition: StudyDefinition) -> tuple[Study, bool]:
    """The study, and whether it was launched just now. A launch that is refused leaves its key unused.

    A second sender waits in the database until the first has committed or failed: the key is unique per person.
    """
    fingerprint = fingerprint_of(definition)
    with transaction.atomic():
        kept, new = LaunchKey.objects.get_or_create(owner=owner, key=key, defaults={"fingerprint": fingerprint})
        if not new:
            return study_of(kept, fingerprint), False
        kept.study = definition_launch(owner=owner, definition=definition)
        kept.save(update_fields=["study"])
        return kept.study, True


def study_of(kept: LaunchKey, fingerprint: str) -> Study:
    if kept.fingerprint != fingerprint:
        raise SpecError([Problem(HEADER, OTHER)], "The key belongs to another launch.")
    if kept.study is None:
        raise ConflictError(GONE)
    return kept.study


def fingerprint_of(definition: StudyDefinition) -> str:
    """Of what was meant, so that spaces, the order of fields and written-out defaults make no difference."""
    return hashlib.sha256(json.dumps(definition.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()
