"""A backup back into an empty home: everything is checked before anything is changed, and compared afterwards."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction

from experiments.access.services.audit import audit_record
from experiments.core.database import Lock, try_session_lock
from experiments.models import Outcome, Run, RunState, Study, Worker
from experiments.operations.backup import database
from experiments.operations.backup.archive import DUMP, HOME, BackupError, Manifest, unpack_archive
from experiments.operations.store import checkpoints_make_relative, store_push
from experiments.queue.services.leases import end_attempt


@dataclass(frozen=True)
class RestoreReport:
    manifest: Manifest
    requeued: int


def restore_backup(path: Path) -> RestoreReport:
    """Refuses a database that holds studies, a home that holds runs, and a platform that is at work."""
    if not path.is_file():
        raise BackupError(f"There is no file {path}.")
    home = settings.HOME.make().path
    refuse_running_platform()
    refuse_studies()
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=home) as folder:
        manifest = unpack_archive(path, Path(folder))
        refuse_newer_backup(manifest)
        refuse_existing_files(Path(folder) / HOME, home)
        database.load_dump(Path(folder) / DUMP)
        compare_database(manifest)
        move_folders(Path(folder) / HOME, home)
    call_command("migrate", verbosity=0, interactive=False)
    requeued = requeue_running(Path(manifest.home))
    store_push()
    audit_record(actor=None, action="backup.restore", subject=path.name, made=manifest.made, requeued=requeued)
    return RestoreReport(manifest, requeued)


def refuse_running_platform() -> None:
    """Whoever schedules holds the lock; ours ends with the connection that `load_dump` closes."""
    if not try_session_lock(Lock.SCHEDULER):
        raise BackupError("Tributary is at work on this database: stop it first, then restore.")


def refuse_studies() -> None:
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
    studies = Study.objects.count() if Study._meta.db_table in tables else 0
    if studies:
        raise BackupError(
            f"This database already holds {studies} {'study' if studies == 1 else 'studies'}, which a restore would"
            " replace: set TRIBUTARY_HOME to a new folder (or DATABASE_URL to an empty database)."
        )
    if foreign := sorted(set(tables) - set(connection.introspection.django_table_names()) - {"django_migrations"}):
        raise BackupError(
            f"This database holds tables of another program ({foreign[0]}): give Tributary one of its own."
        )


def refuse_newer_backup(manifest: Manifest) -> None:
    if unknown := database.unknown_migrations(manifest.migrations):
        raise BackupError(f"The backup was made by a newer Tributary (with {unknown[0]}): install that one first.")


def target_folders(unpacked_home: Path, home: Path) -> dict[Path, Path]:
    """Each run's and each data set's folder, and where it goes."""
    folders = [each for parent in unpacked_home.glob("*") for each in parent.iterdir()]
    return {each: home / each.relative_to(unpacked_home) for each in folders}


def refuse_existing_files(unpacked_home: Path, home: Path) -> None:
    if existing := sorted(str(place) for place in target_folders(unpacked_home, home).values() if place.exists()):
        raise BackupError(f"{existing[0]} is there already: set TRIBUTARY_HOME to a new folder.")


def move_folders(unpacked_home: Path, home: Path) -> None:
    for folder, target in target_folders(unpacked_home, home).items():
        target.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.move(folder, target)


def compare_database(manifest: Manifest) -> None:
    """Before migrations, which may change rows for good reasons."""
    wrong = [name for name, facts in manifest.tables.items() if database.table_facts(name) != facts]
    if wrong or database.applied_migrations() != manifest.migrations:
        raise BackupError(f"The restored database is not as it was backed up ({', '.join(wrong) or 'migrations'}).")


def requeue_running(before: Path) -> int:
    """Runs that were at work go back to the queue with their checkpoints, wherever these lie now."""
    with transaction.atomic():
        checkpoints_make_relative(before)
        running = list(Run.objects.select_for_update().filter(state=RunState.RUNNING))
        for run in running:
            end_attempt(
                run, RunState.QUEUED, Outcome.RELEASED, "Its worker was left behind: this is a restored backup."
            )
        Worker.objects.all().delete()
    return len(running)
