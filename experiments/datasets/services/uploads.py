"""A lab's own .npz files: uploaded by an admin, or put into TRIBUTARY_HOME/datasets/npz by hand."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from pathlib import Path
from uuid import uuid4

from django.db.models import Max

from experiments.access.services.rights import require_admin
from experiments.datasets.services.jobs import job_request, npz_folder, npz_request
from experiments.housekeeping.models import ACTIVE_STATES
from experiments.models import Job, JobKind, User
from workers.datasets import _cache
from workers.datasets.npz import valid_name
from workers.errors import Problem, SpecError, TributaryError

logger = logging.getLogger(__name__)
SETTLED_SECONDS = 3.0
"""Seconds without a change after which a file that is being copied counts as whole."""


def npz_upload(
    *, actor: User, name: str, size: int, content: Iterable[bytes], limit: int, replace: bool = False
) -> Job:
    """Written beside its place, then moved there: nobody sees half a file. Only its job's process reads it."""
    require_admin(actor)
    stem = require_npz_name(name)
    if size > limit:
        raise upload_error(
            f"{size / 1e6:,.0f} MB are more than {limit / 1e6:,.0f} MB. Put it into {npz_folder()} instead."
        )
    if not replace and is_known(stem):
        raise upload_error(f"There is a {stem}.npz already: give yours another name, or say that it replaces that one.")
    npz_folder().mkdir(parents=True, exist_ok=True)
    part = npz_folder() / f".{uuid4().hex}.part"
    try:
        with part.open("wb") as file:
            file.writelines(content)
        target = part.replace(npz_folder() / f"{stem}.npz")
    finally:
        part.unlink(missing_ok=True)
    return npz_request(actor=actor, file=target, replace=replace)


def require_npz_name(name: str) -> str:
    path = Path(name)
    if path.suffix.lower() != ".npz":
        raise upload_error("Choose a file that ends in .npz.")
    try:
        return valid_name(path.stem)
    except TributaryError as error:
        raise upload_error(error.detail) from None


def upload_error(message: str) -> SpecError:
    return SpecError([Problem("file", message)], message)


def dropped_files() -> list[Path]:
    """Files in the folder that are whole and newer than what was imported of them."""
    return [path for path in sorted(npz_folder().glob("*.npz")) if is_settled(path) and not is_imported(path)]


def is_settled(path: Path) -> bool:
    try:
        return path.is_file() and time.time() - path.stat().st_mtime > SETTLED_SECONDS
    except OSError:
        return False


def is_known(stem: str) -> bool:
    return _cache.manifest_of(f"npz-{stem}") is not None


def is_imported(path: Path) -> bool:
    """One whose name is not allowed is never: its job says why."""
    try:
        name = valid_name(path.stem)
    except TributaryError:
        return False
    manifest = _cache.folder_of(f"npz-{name}") / _cache.MANIFEST
    return manifest.exists() and manifest.stat().st_mtime >= path.stat().st_mtime


def request_dropped_files() -> int:
    """Asks for each new file once; one that failed is tried again only after it changed."""
    count = 0
    for path in dropped_files():
        earlier_jobs = Job.objects.filter(subject="npz", path=str(path))
        last = earlier_jobs.aggregate(last=Max("created"))["last"]
        if earlier_jobs.filter(state__in=ACTIVE_STATES).exists() or (last and last.timestamp() >= path.stat().st_mtime):
            continue
        try:
            job_request(actor=None, dataset="npz", kind=JobKind.IMPORT, path=str(path), replace=True)
            count += 1
        except TributaryError as error:
            logger.warning("%s is left where it is: %s", path, error.detail)
    return count
