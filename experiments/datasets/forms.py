"""The form of an import of a lab's own tables and pictures: from what was typed to options, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.models import Job
from workers.data_import.options import ImportOptions

COLOURS = (("auto", "grey where all are"), ("grey", "grey"), ("rgb", "red, green, blue"))


def typed_options(posted: Mapping[str, str]) -> dict[str, Any]:
    """What stands in the form, as `parse_options` takes it; an empty field is left to its default."""
    typed: dict[str, Any] = {}
    for name, field in ImportOptions.model_fields.items():
        text = posted.get(name, "").strip()
        if name == "standardise":
            typed[name] = text == "true"
        elif text:
            is_list = isinstance(field.default, tuple)
            typed[name] = tuple(part for each in text.split(",") if (part := each.strip())) if is_list else text
    return typed


def import_form(jobs: Iterable[Job], posted: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What the form shows: what was typed and refused, or else what the last preview or failure was asked with."""
    last = next((job for job in jobs if job.request.get("dry_run") or job.state == "failed"), None)
    options = typed_options(posted) if posted else last.request.get("options", {}) if last else {}
    path = posted.get("path", "") if posted else last.path if last else ""
    shown = {name: shown_value(options.get(name, field.default)) for name, field in ImportOptions.model_fields.items()}
    return {**shown, "path": path, "colours": COLOURS}


def shown_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
