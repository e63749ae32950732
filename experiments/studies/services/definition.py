"""A study as a person writes it: one typed shape for REST, YAML files and forms."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from django.db import transaction
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from experiments.core.errors import ConflictError
from experiments.models import LaunchKey, Study, User
from experiments.studies.services.launch import Plan, study_launch, study_plan
from workers.errors import Problem, SpecError
from workers.spec.runspec import validation_problems

MAX_LEVELS = 20
TOO_DEEP = f"Nested more than {MAX_LEVELS} levels deep: no field of a spec is."
KEY_HEADER = "Idempotency-Key"
KEY_OF_ANOTHER = (
    "This key was used for another launch: take a new key for each launch, and the same one only to send it again."
)
KEY_GONE = "The study that this key launched was deleted. To launch it anew, take a new key."
EXAMPLE: dict[str, Any] = {
    "name": "FedProx against FedAvg",
    "description": "Does the proximal term help on skewed labels?",
    "tags": ["skew"],
    "blocks": [
        {
            "dataset": {"name": "digits"},
            "model": {"name": "mlp-50"},
            "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.01, 0.1]}],
            "partition": {"name": "label-dirichlet", "alpha": 0.3},
            "rounds": 40,
            "seeds": 3,
        }
    ],
    "priority": 0,
    "requires": "cpu",
    "reuse": True,
    "shuffle": False,
}


class StudyDefinition(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, json_schema_extra={"examples": [EXAMPLE]})

    name: str = Field(max_length=200)
    """What the study is called."""
    description: str = Field("", max_length=20_000)
    """Why it is done, in free text."""
    tags: list[str] = Field([], max_length=50)
    """Words to find it by."""
    blocks: list[dict[str, Any]]
    """Grids: every field, at any depth, may be one value or a list; lists are axes."""
    priority: int = Field(0, ge=-100, le=100)
    """Higher goes first."""
    requires: Literal["cpu", "gpu"] = "cpu"
    """What a worker must have to take its runs."""
    reuse: bool = True
    """Equal runs that exist already become members instead of being computed again."""
    shuffle: bool = False
    """Takes the runs in a random order, so that early results cover the grid."""

    @field_validator("blocks")
    @classmethod
    def refuse_deep_blocks(cls, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Checked before anything walks through them: a walk would end where Python's stack does."""
        if problems := [Problem(f"blocks.{place}", TOO_DEEP) for place, block in enumerate(blocks) if is_deep(block)]:
            raise SpecError(problems)
        return blocks


def is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_LEVELS):
        level = [inner for each in level for inner in child_values(each)]
    return bool(level)


def child_values(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def parse_definition(data: Any) -> StudyDefinition:
    if not isinstance(data, Mapping):
        raise SpecError([Problem("", "A study is a mapping with name and blocks.")])
    try:
        return StudyDefinition.model_validate(data)
    except ValidationError as error:
        raise SpecError(validation_problems(error, data, StudyDefinition)) from None


def definition_launch(
    *, owner: User, definition: StudyDefinition, origin: str = "own", source: str = "", parent: Study | None = None
) -> Study:
    """`source` is the definition as the person wrote it, where that was YAML; `parent` the study it varies."""
    return study_launch(owner=owner, origin=origin, source=source, parent=parent, **definition.model_dump())


def definition_plan(*, owner: User, definition: StudyDefinition, calibrate: bool = False) -> Plan:
    return study_plan(
        owner=owner,
        blocks=definition.blocks,
        reuse=definition.reuse,
        requires=definition.requires,
        calibrate=calibrate,
    )


def launch_once(*, owner: User, key: str, definition: StudyDefinition) -> tuple[Study, bool]:
    """The study, and whether it was launched just now. A launch that is refused leaves its key unused.

    A second sender waits in the database until the first has committed or failed: the key is unique per person.
    """
    fingerprint = fingerprint_of(definition)
    with transaction.atomic():
        launch_key, new = LaunchKey.objects.get_or_create(owner=owner, key=key, defaults={"fingerprint": fingerprint})
        if not new:
            return study_of_key(launch_key, fingerprint), False
        launch_key.study = definition_launch(owner=owner, definition=definition)
        launch_key.save(update_fields=["study"])
        return launch_key.study, True


def study_of_key(launch_key: LaunchKey, fingerprint: str) -> Study:
    if launch_key.fingerprint != fingerprint:
        raise SpecError([Problem(KEY_HEADER, KEY_OF_ANOTHER)], "The key belongs to another launch.")
    if launch_key.study is None or launch_key.study.deleting:
        raise ConflictError(KEY_GONE)
    return launch_key.study


def fingerprint_of(definition: StudyDefinition) -> str:
    """Of what was meant, so that spaces, the order of fields and written-out defaults make no difference."""
    return hashlib.sha256(json.dumps(definition.model_dump(mode="json"), sort_keys=True).encode()).hexdigest()
