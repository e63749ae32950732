"""A backup while everything runs: the database at one moment, and the files that this moment names."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from experiments.access.services.audit import audit_record
from experiments.flower_apps.selectors import VERSION_FOLDER
from experiments.models import Attempt, Outcome, Run, RunState
from experiments.operations.backup import database
from experiments.operations.backup.archive import DUMP, HOME, ArchiveWriter, BackupError, Manifest, write_whole_file
from workers.apps.library import CURRENT
from workers.apps.package import content_files
from workers.home import artifact_folder, log_file


@dataclass(frozen=True)
class BackupReport:
    manifest: Manifest
    bytes: int
    models_elsewhere: int
    """Final models of done runs that this home does not have: they were computed on another machine."""


def create_backup(path: Path) -> BackupReport:
    if path.exists():
        raise BackupError(f"{path} is there already: give the backup another name.")
    try:
        with write_whole_file(path) as file, tempfile.TemporaryDirectory(prefix=".backup-", dir=path.parent) as folder:
            manifest, elsewhere = write_archive(ArchiveWriter(file), Path(folder))
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror}.") from None
    audit_record(actor=None, action="backup", subject=path.name, bytes=path.stat().st_size, files=len(manifest.files))
    return BackupReport(manifest, path.stat().st_size, elsewhere)


def write_archive(writer: ArchiveWriter, folder: Path) -> tuple[Manifest, int]:
    with database.share_snapshot() as moment:
        facts = Manifest(
            made=datetime.now(UTC).isoformat(timespec="seconds"),
            home=str(settings.HOME.path),
            postgres=database.server_version(),
            migrations=database.applied_migrations(),
            tables=database.all_table_facts(),
            files=writer.files,
        )
        paths = sorted(set(run_files()))
        elsewhere = sum(not (settings.HOME.path / path).is_file() for path in final_models())
        database.dump_database(folder / DUMP, moment)
    writer.add(DUMP, folder / DUMP)
    for path in (*paths, *own_data_files(), *app_version_files()):
        writer.add(f"{HOME}/{path.relative_to(settings.HOME.path)}", path)
    writer.finish(facts)
    return facts, elsewhere


def final_models() -> list[str]:
    return list(Run.objects.filter(state=RunState.DONE).exclude(artifact="").values_list("artifact", flat=True))


def run_files() -> Iterator[Path]:
    """Logs, final models, what an app without a model wrote, and the checkpoints of unfinished runs."""
    home = settings.HOME.path
    yield from (log_file(pk) for pk in Run.objects.values_list("pk", flat=True) if log_file(pk).is_file())
    for artifact in final_models():
        yield from files_inside((home / artifact).parent)
    without_model = Attempt.objects.filter(outcome=Outcome.DONE, run__state=RunState.DONE, run__artifact="")
    for run, token in without_model.values_list("run_id", "token"):
        yield from files_inside(artifact_folder(run, token))
    resumable = Attempt.objects.exclude(run__state=RunState.DONE).exclude(checkpoint="")
    for checkpoint in resumable.values_list("checkpoint", flat=True):
        yield from files_inside(Path(checkpoint))


def own_data_files() -> Iterator[Path]:
    """What nobody else has; published data sets can be fetched again."""
    datasets = settings.HOME.path / "datasets"
    for folder in sorted([datasets / "npz", *datasets.glob("npz-*")]):
        yield from files_inside(folder)


def app_version_files() -> Iterator[Path]:
    """Every version that runs were launched with, whole: its hash is of all its files. Environments are made again."""
    for folder in sorted((settings.HOME.path / "apps").glob("*/*")):
        if VERSION_FOLDER.fullmatch(folder.name):
            yield from content_files(folder)
        elif folder.name == CURRENT:
            yield folder


def files_inside(folder: Path) -> Iterator[Path]:
    """Whole files only: no links, and nothing that is still being written under a hidden name."""
    if folder.is_relative_to(settings.HOME.path):
        paths = sorted(folder.rglob("*"))
        yield from (each for each in paths if each.is_file() and not each.is_symlink() and each.name[0] != ".")
