"""Takes the database in DATABASE_URL from the first migration to the last, with rows in every table at each step.

A process of its own, as migrations that are Python use the process's own connection. Prints what the test looks at.
"""

from __future__ import annotations

import json
import sys
import uuid
from datetime import UTC, datetime
from typing import Any

import django
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROWS = 3
LEASE = {"lease_token": uuid.UUID(int=7), "lease_until": NOON}
FREE = {"lease_token": None, "lease_until": None}
FEDLOSS = {"strategy": {"name": "fedloss"}, "evaluation": {"validation": 0, "held_out": 0.2}}
OTHER = {"strategy": {"name": "fedavg"}, "evaluation": {"validation": 0, "held_out": 0.2}}
# What a constraint wants, or a migration looks for. By model, a row each.
SPECIAL: dict[str, list[dict[str, Any]]] = {
    "run": [
        {"state": "queued", "spec": FEDLOSS, "engine": "", **FREE},
        {"state": "running", "spec": OTHER, "engine": "cohort", **LEASE},
        {"state": "done", "spec": OTHER, "engine": "cohort", "provenance": {"device": "cuda:0"}, **FREE},
    ],
    "study": [{"requires": "cpu", "parent": None}, {"requires": "cpu"}, {"requires": "gpu"}],
    "note": [{"run": None}, {"run": None}, {"study": None}],
    "curveblock": [{"block": 0, "numbers": [0.5]}] * ROWS,
    "worker": [{"name": f"worker-{number}", "device": "mps"} for number in range(ROWS)],
}


class Filler:
    """Rows for the models of one moment of the migrations, each row with the rows that it refers to."""

    def __init__(self, apps: Any) -> None:
        self.models = {model._meta.label_lower: model for model in apps.get_models(include_auto_created=True)}

    def fill(self) -> None:
        for model in self.models.values():
            if model._meta.managed:
                self.rows(model)

    def rows(self, model: Any) -> list[Any]:
        present = list(model._default_manager.order_by(*key_fields(model)))
        return present or [self.add(model, number) for number in range(ROWS)]

    def add(self, model: Any, number: int) -> Any:
        special = SPECIAL.get(model._meta.model_name, [{}] * ROWS)[number]
        fields = [each for each in model._meta.concrete_fields if each.name not in special and not is_generated(each)]
        known = {name: value for name, value in special.items() if name in {each.name for each in all_fields(model)}}
        return model._default_manager.create(**{each.name: self.value(each, number) for each in fields}, **known)

    def value(self, field: Any, number: int) -> Any:
        if isinstance(field, models.ForeignKey):
            related = field.related_model
            return None if related is field.model else self.rows(related)[number]
        if field.choices:
            return field.choices[number % len(field.choices)][0]
        return field.get_default() if field.has_default() else plain_value(field, number)


def all_fields(model: Any) -> list[Any]:
    return list(model._meta.concrete_fields)


def key_fields(model: Any) -> list[str]:
    return [field.name for field in model._meta.pk_fields]


def is_generated(field: Any) -> bool:
    return isinstance(field, models.AutoField | models.CompositePrimaryKey)


def plain_value(field: Any, number: int) -> Any:
    if isinstance(field, models.CharField | models.TextField):
        return f"{field.name}-{number}"[: field.max_length]
    values: dict[type, Any] = {
        models.DateTimeField: NOON,
        models.UUIDField: uuid.UUID(int=number),
        models.BooleanField: False,
        models.JSONField: {},
        models.FloatField: number / 2,
        models.IntegerField: number,
        models.BinaryField: b"",
    }
    return next((value for kind, value in values.items() if isinstance(field, kind)), [])


def row_counts() -> dict[str, int]:
    with connection.cursor() as cursor:
        tables = [name for name in connection.introspection.table_names(cursor) if name.startswith("experiments_")]
        counts = {}
        for table in sorted(tables):
            cursor.execute(f'SELECT count(*) FROM "{table}"')
            counts[table] = cursor.fetchone()[0]
        return counts


def steps() -> list[str]:
    loader = MigrationExecutor(connection).loader
    return sorted(name for app, name in loader.graph.nodes if app == "experiments")


def migrate_to(name: str) -> Any:
    executor = MigrationExecutor(connection)
    return executor.migrate([("experiments", name)]).apps


def walk() -> dict[str, Any]:
    lost: dict[str, list[str]] = {}
    for name in steps():
        before = row_counts()
        apps = migrate_to(name)
        after = row_counts()
        lost[name] = [table for table, rows in before.items() if after.get(table, rows) != rows]
        Filler(apps).fill()
    return {"lost": lost, "empty": [table for table, rows in row_counts().items() if not rows]}


def read_everything() -> dict[str, Any]:
    """By the models of today."""
    from django.apps import apps

    from experiments.models import Membership, Run

    today = apps.get_app_config("experiments").get_models()

    return {
        "read": {model.__name__: len(list(model._default_manager.all())) for model in today},
        "runs": list(Run.objects.order_by("pk").values_list("state", "device_type", "requires")),
        "validation": [run.spec["evaluation"]["validation"] for run in Run.objects.order_by("pk")],
        "waiting": list(Membership.objects.order_by("study_id").values_list("waiting", flat=True)),
    }


if __name__ == "__main__":
    django.setup()
    sys.stdout.write(json.dumps(walk() | read_everything()))
