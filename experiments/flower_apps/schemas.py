"""An app as REST shows it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any, Literal

from experiments.api.schemas import Answer, example_config
from experiments.flower_apps.selectors import AppRow

HASH = "9f2c6a"
CHECK = {
    "ok": True,
    "problem": "",
    "python": "3.12.4",
    "interpreter": "Tributary's own",
    "missing": [],
}
FIELD = {"key": "learning-rate", "type": "number", "default": 0.1}
VERSION = {"hash": HASH, "version": "1.0.0", "kept": "2026-03-01T12:00:00Z", "current": True}


class FieldAnswer(Answer):
    model_config = example_config(**FIELD)

    key: str
    """As in `app.config` of a study; keys of nested tables are joined by dots."""
    type: Literal["boolean", "integer", "number", "text"]
    """What a value must be."""
    default: bool | int | float | str
    """What it is where a study does not say."""


class CheckAnswer(Answer):
    model_config = example_config(**CHECK)

    ok: bool
    """Whether it can be imported."""
    problem: str
    """Why not."""
    python: str
    """The version of Python that tried."""
    interpreter: str
    """Whose it is."""
    missing: list[str]
    """Requirements of the app that are not met here."""


class VersionAnswer(Answer):
    model_config = example_config(**VERSION)

    hash: str
    """Of all its files: part of the identity of its runs."""
    version: str
    """What its manifest says."""
    kept: datetime
    """Since when it is kept."""
    current: bool
    """Whether new studies take it."""


class AppAnswer(Answer):
    model_config = example_config(
        name="quickstart-numpy",
        version="1.0.0",
        hash=HASH,
        publisher="our-lab",
        description="Least squares, NumPy only",
        origin="added",
        problem="",
        config=[FIELD],
        dependencies=["flwr>=1.22"],
        check=CHECK,
        versions=[VERSION],
        studies=[12],
    )

    name: str
    """As in `app.name` of a study."""
    version: str
    """What its manifest says; empty where that cannot be read."""
    hash: str
    """Of all its files; empty where they cannot be read."""
    publisher: str
    """Who made it."""
    description: str
    """What it is."""
    origin: Literal["folder", "added"]
    """A folder of TRIBUTARY_APPS, or added by an admin."""
    problem: str
    """Why it cannot be read; empty where it can."""
    config: list[FieldAnswer]
    """What a study can set or vary."""
    dependencies: list[str]
    """What it asks for."""
    check: CheckAnswer | None
    """Whether it can be imported; null where nobody has tried yet."""
    versions: list[VersionAnswer]
    """Those that are kept, the newest first."""
    studies: list[int]
    """The newest studies about it."""


def app_answer(row: AppRow) -> dict[str, Any]:
    package = row.app.package
    return {
        "name": row.app.name,
        "version": package.version if package else "",
        "hash": package.hash if package else "",
        "publisher": package.publisher if package else "",
        "description": package.description if package else "",
        "origin": row.app.origin,
        "problem": row.app.problem,
        "config": [{"key": each.key, "type": each.kind, "default": each.default} for each in row.fields],
        "dependencies": list(package.dependencies) if package else [],
        "check": asdict(row.check) if row.check else None,
        "versions": [{**asdict(each), "version": each.number} for each in row.versions],
        "studies": [study.pk for study in row.studies],
    }
