"""A backup while everything runs: the database at one moment, and the files that this moment names."""

from __future__ import annotations

import shutil
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
from workers.home import artifact_folder, checkpoint_key, file_key, log_file
from workers.store.store import DamagedCopyError, NotStoredError, remote_store


@dataclass(frozen=True)
class BackupReport:
    manifest: Manifest
    bytes: int
    models_elsewhere: int
    """Final models of done runs that neither this home nor the store has: another machine computed them."""


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
        missing = [key for key in wanted_bundles() if not (settings.HOME.path / key).exists()]
        models = {Path(path).parent.as_posix() for path in final_models()}
        database.dump_database(folder / DUMP, moment)
    writer.add(DUMP, folder / DUMP)
    for path in (*paths, *own_data_files(), *app_version_files()):
        writer.add(f"{HOME}/{path.relative_to(settings.HOME.path)}", path)
    elsewhere = 0
    for key in missing:
        if not add_stored_bundle(writer, key, folder) and key in models:
            elsewhere += 1
    add_stored_logs(writer, folder)
    writer.finish(facts)
    return facts, elsewhere


def final_models() -> list[str]:
    return list(Run.objects.filter(state=RunState.DONE).exclude(artifact="").values_list("artifact", flat=True))


def run_files() -> Iterator[Path]:
    """Logs, and what is wanted of the files of runs."""
    yield from (log_file(pk) for pk in Run.objects.values_list("pk", flat=True) if log_file(pk).is_file())
    for key in wanted_bundles():
        yield from files_inside(settings.HOME.path / key)


def wanted_bundles() -> Iterator[str]:
    """Final models, what an app without a model wrote, and the checkpoints of unfinished runs, as home and store have

    them.
    """
    yield from (Path(artifact).parent.as_posix() for artifact in final_models())
    without_model = Attempt.objects.filter(outcome=Outcome.DONE, run__state=RunState.DONE, run__artifact="")
    for run, token in without_model.values_list("run_id", "token"):
        yield file_key(artifact_folder(run, token))
    resumable = Attempt.objects.exclude(run__state=RunState.DONE).exclude(checkpoint="")
    for run, checkpoint in resumable.values_list("run_id", "checkpoint"):
        if key := checkpoint_key(run, checkpoint):
            yield key


def add_stored_bundle(writer: ArchiveWriter, key: str, folder: Path) -> bool:
    """What only the store has, in a folder for as long as it is read; False where it has not."""
    store, copy = remote_store(), folder / "copy"
    if store is None:
        return False
    try:
        store.fetch(key, copy)
    except (NotStoredError, DamagedCopyError):
        return False
    for path in [copy] if copy.is_file() else sorted(path for path in copy.rglob("*") if path.is_file()):
        writer.add("/".join([HOME, key, *path.relative_to(copy).parts]), path)
    copy.unlink() if copy.is_file() else shutil.rmtree(copy)
    return True


def add_stored_logs(writer: ArchiveWriter, folder: Path) -> None:
    store = remote_store()
    if store is None:
        return
    for run in map(int, filter(str.isdecimal, store.folders("logs"))):
        if not log_file(run).is_file() and Run.objects.filter(pk=run).exists():
            copy = folder / "log"
            copy.write_bytes(b"".join(store.read(f"logs/{run}/{name}") for name in store.sizes(f"logs/{run}")))
            writer.add(f"{HOME}/{file_key(log_file(run))}", copy)


def own_data_files() -> Iterator[Path]:
    """What nobody else has; published data sets can be fetched again."""
    datasets = settings.HOME.path / "datasets"
    for folder in sorted([datasets / "npz", *datasets.glob("npz-*"), *datasets.glob("own-*")]):
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
        paths = [folder] if folder.is_file() else sorted(folder.rglob("*"))
        yield from (each for each in paths if each.is_file() and not each.is_symlink() and each.name[0] != ".")
