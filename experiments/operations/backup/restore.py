"""A backup back into an empty home: everything is checked before anything is changed, and compared afterwards."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import F, Value
from django.db.models.functions import Concat, Substr

from experiments.access.services.audit import audit_record
from experiments.core.database import Lock, try_session_lock
from experiments.models import Attempt, Outcome, Run, RunState, Study, Worker
from experiments.operations.backup import database
from experiments.operations.backup.archive import DUMP, HOME, BackupError, Manifest, unpack
from experiments.queue.services.leases import end


@dataclass(frozen=True)
class Restored:
    manifest: Manifest
    requeued: int


def restore(path: Path) -> Restored:
    """Refuses a database that holds studies, a home that holds runs, and a platform that is at work."""
    if not path.is_file():
        raise BackupError(f"There is no file {path}.")
    home = settings.HOME.make().path
    refuse_work()
    refuse_studies()
    with tempfile.TemporaryDirectory(prefix=".restore-", dir=home) as folder:
        manifest = unpack(path, Path(folder))
        refuse_newer(manifest)
        refuse_files(Path(folder) / HOME, home)
        database.load(Path(folder) / DUMP)
        compare(manifest)
        move(Path(folder) / HOME, home)
    call_command("migrate", verbosity=0, interactive=False)
    requeued = settle(Path(manifest.home), home)
    audit_record(actor=None, action="backup.restore", subject=path.name, made=manifest.made, requeued=requeued)
    return Restored(manifest, requeued)


def refuse_work() -> None:
    """Whoever schedules holds the lock; ours ends with the connection that `load` closes."""
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


def refuse_newer(manifest: Manifest) -> None:
    if unknown := database.unknown_migrations(manifest.migrations):
        raise BackupError(f"The backup was made by a newer Tributary (with {unknown[0]}): install that one first.")


def places(unpacked: Path, home: Path) -> dict[Path, Path]:
    """Each run's and each data set's folder, and where it goes."""
    found = [each for kept in unpacked.glob("*") for each in kept.iterdir()]
    return {each: home / each.relative_to(unpacked) for each in found}


def refuse_files(unpacked: Path, home: Path) -> None:
    if taken := sorted(str(place) for place in places(unpacked, home).values() if place.exists()):
        raise BackupError(f"{taken[0]} is there already: set TRIBUTARY_HOME to a new folder.")


def move(unpacked: Path, home: Path) -> None:
    for found, place in places(unpacked, home).items():
        place.parent.mkdir(mode=0o700, exist_ok=True)
        shutil.move(found, place)


def compare(manifest: Manifest) -> None:
    """Before migrations, which may change rows for good reasons."""
    wrong = [name for name, facts in manifest.tables.items() if database.facts_of(name) != facts]
    if wrong or database.migrations() != manifest.migrations:
        raise BackupError(f"The restored database is not as it was backed up ({', '.join(wrong) or 'migrations'}).")


def settle(before: Path, home: Path) -> int:
    """Runs that were at work go back to the queue with their checkpoints, wherever these lie now."""
    with transaction.atomic():
        moved = Attempt.objects.filter(checkpoint__startswith=f"{before}/")
        moved.update(checkpoint=Concat(Value(str(home)), Substr(F("checkpoint"), len(str(before)) + 1)))
        running = list(Run.objects.select_for_update().filter(state=RunState.RUNNING))
        for run in running:
            end(run, RunState.QUEUED, Outcome.RELEASED, "Its worker was left behind: this is a restored backup.")
        Worker.objects.all().delete()
    return len(running)
