"""Asking for a data set: who may, from where, and what is never replaced in silence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from experiments.access.services.audit import audit_record
from experiments.access.services.rights import require_admin
from experiments.core.errors import ConflictError, NotAllowedError
from experiments.housekeeping.services.jobs import job_add
from experiments.models import Job, JobKind, User
from workers.catalog import load_catalog
from workers.data_import.options import ImportOptions
from workers.datasets import _cache
from workers.datasets._imported import ImportedDataset
from workers.datasets.own import PREFIX
from workers.errors import Problem, SpecError
from workers.home import home

PATH_LENGTH = 1000


def job_request(
    *,
    actor: User | None,
    dataset: str,
    kind: JobKind,
    path: str = "",
    replace: bool = False,
    options: ImportOptions | None = None,
    dry_run: bool = False,
) -> Job:
    """Queued, or refused with what to do. `actor` is None for files that were put into the lab's own folder.

    What is here already is replaced only where an admin says so: runs that wait would find other data. `options` are
    for the lab's own tables and pictures; a `dry_run` of these only looks at them.
    """
    if actor is not None and not actor.may_launch:
        raise NotAllowedError("A viewer reads. Ask an admin for the role member to fetch and import data sets.")
    importable = importable_dataset(dataset)
    if kind == JobKind.FETCH and not importable.originals:
        raise ConflictError(importable.no_fetch)
    source = require_readable_path(path) if kind == JobKind.IMPORT else ""
    stores = kind != JobKind.VERIFY and not dry_run
    if stores:
        require_replaceable(actor, importable, replace)
        require_free_name(options, replace)
    request: dict[str, Any] = {"replace": replace}
    if options is not None:
        request |= {"options": options.model_dump(mode="json", exclude_defaults=True), "dry_run": dry_run}
    with transaction.atomic():
        job = job_add(kind=kind, subject=dataset, path=source, request=request, person=actor)
        if job is None:
            raise ConflictError(f"{importable.label} is being worked on already: wait until that has ended.")
        if stores:
            subject = f"data set {dataset}"
            audit_record(actor=actor, action=f"dataset.{kind}", subject=subject, path=source, replace=replace)
    return job


def importable_dataset(name: str) -> ImportedDataset:
    dataset = load_catalog().datasets.get(name)
    if not isinstance(dataset, ImportedDataset):
        raise ConflictError(f"{name} is not imported: it is made here whenever it is needed.")
    return dataset


def require_replaceable(actor: User | None, dataset: ImportedDataset, replace: bool) -> None:
    """By name where there is one of that name only; a lab's own files say their names when they are read."""
    if replace and actor is not None and not actor.is_lab_admin:
        raise NotAllowedError(f"Only an admin may replace {dataset.label}: runs that wait would find other data.")
    if not replace and dataset.name in dataset.manifests():
        raise ConflictError(
            f"{dataset.label} is here already. An admin may replace it, which everyone's runs that wait would notice."
        )


def require_free_name(options: ImportOptions | None, replace: bool) -> None:
    """Where the name is known before anything is read."""
    if options and options.name and not replace and _cache.manifest_of(f"{PREFIX}{options.name}"):
        raise ConflictError(
            f"There is a data set {options.name} already: give another name, or have an admin replace it."
        )


def home_import_folder() -> Path:
    return home() / "imports"


def import_folders() -> list[Path]:
    """Where people may import from: the folder in the home, and those of TRIBUTARY_IMPORT_FOLDERS."""
    return [home_import_folder(), *settings.IMPORT_FOLDERS]


def npz_folder() -> Path:
    return home() / "datasets" / "npz"


def readable_folders() -> list[Path]:
    """Where jobs may read, links followed: the lab's own .npz files too."""
    return [folder.resolve() for folder in (*import_folders(), npz_folder())]


def require_readable_path(path: str) -> str:
    """An existing folder or archive below an allowed folder. The job looks again at each file that it opens."""
    home_import_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    text = path.strip()
    checks = [
        (not text, "Give the folder or archive on the server that holds the originals."),
        (len(text) > PATH_LENGTH or "\0" in text, "That is no path."),
        (not text.startswith("/"), "Give the whole path, from / on."),
    ]
    if message := next((message for wrong, message in checks if wrong), None) or path_problem(Path(text)):
        raise SpecError([Problem("path", message)], message)
    return text


def path_problem(path: Path) -> str | None:
    """Outside the allowed folders nothing is told, not even whether it exists."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        return "That is no path."
    if not any(real.is_relative_to(folder) for folder in readable_folders()):
        folders = " or ".join(str(folder) for folder in import_folders())
        return (
            f"Data are imported from below {folders} only. Put the originals there, or have whoever runs the server "
            "add their folder to TRIBUTARY_IMPORT_FOLDERS."
        )
    if not path_exists(real):
        return f"{path} does not exist on the server."
    permissions = os.R_OK | (os.X_OK if real.is_dir() else 0)
    return None if os.access(real, permissions) else f"{path} cannot be read by the server."


def path_exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def npz_request(*, actor: User, file: Path, replace: bool) -> Job:
    """For a file that an admin uploaded and that is in the lab's folder now."""
    require_admin(actor)
    return job_request(actor=actor, dataset="npz", kind=JobKind.IMPORT, path=str(file), replace=replace)
