"""What lies on disk and belongs to nobody any more. Only told: deleting is a person's business."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from config.services import account
from django.conf import settings

from experiments.models import Run
from experiments.operations.doctor.findings import Finding, error, good, note, size_text, warning
from workers.store.store import StoreError, remote_store

MOST_NAMED = 5
FORGOTTEN_SECONDS = 24 * 3600
IDENTITY = re.compile(r"[0-9a-f]{12}")
TEST_HOMES = "tributary-test-*"


def check_run_folders() -> Iterator[Finding]:
    """Of runs that were deleted while another machine, or a crash, kept their files."""
    folder = settings.HOME.path / "runs"
    folder_by_run = {int(each.name): each for each in subfolders(folder) if each.name.isdigit()}
    known_runs = set(Run.objects.filter(pk__in=folder_by_run).values_list("pk", flat=True))
    yield from report_unowned(
        f"Folders in {folder} without a run", [folder_by_run[pk] for pk in sorted(folder_by_run.keys() - known_runs)]
    )


def check_store() -> Iterator[Finding]:
    """Whether it answers, and what lies there of runs that nobody has."""
    store = remote_store()
    if store is None:
        yield good("Files are kept in this home (TRIBUTARY_STORE is not set).")
        return
    try:
        store.check()
        stored = {int(name) for name in {*store.folders("runs"), *store.folders("logs")} if name.isdecimal()}
    except StoreError as problem:
        mend = "Runs go on, and wait at their end until it answers; none begins. Is it reachable from here?"
        yield error(str(problem), mend)
        return
    known = set(Run.objects.filter(pk__in=stored).values_list("pk", flat=True))
    if unknown := sorted(stored - known):
        names = ", ".join(map(str, unknown[:MOST_NAMED])) + (", ..." if len(unknown) > MOST_NAMED else "")
        mend = "Delete runs/NUMBER and logs/NUMBER there, if no other lab keeps its files in the same place."
        yield warning(f"{store.label} has files of {len(unknown)} runs that do not exist ({names}).", mend)
    else:
        yield good(f"The store {store.label} answers, and has files of {len(known)} runs.")


def check_models() -> Iterator[Finding]:
    """Of done runs; those computed on a machine with another home are not here, unless there is a store."""
    done = Run.objects.filter(state="done").exclude(artifact="").order_by("pk").values_list("pk", "artifact")
    gone = [pk for pk, path in done.iterator() if not (settings.HOME.path / path).exists()]
    if store := remote_store():
        try:
            gone = [pk for pk in gone if not store.folders(f"runs/{pk}/artifacts")]
        except StoreError:
            return  # `check_store` tells.
    if gone:
        runs = ", ".join(map(str, gone[:MOST_NAMED])) + (
            f" and {len(gone) - MOST_NAMED} more" if len(gone) > MOST_NAMED else ""
        )
        yield note(f"The final model is not in this home: run {runs}.", "Their numbers are safe in the database.")
    else:
        yield good("Every done run has its final model.")


def check_account_folders() -> Iterator[Finding]:
    """As root, the servers' data lie apart from the home, which remembers their place."""
    orphans = [
        each for each in subfolders(account.SHARED_FOLDER) if IDENTITY.fullmatch(each.name) and not has_home(each)
    ]
    yield from report_unowned(f"Servers' data in {account.SHARED_FOLDER} whose home is gone", orphans)


def has_home(folder: Path) -> bool:
    try:
        home = Path((folder / "home").read_text().strip())
        return (home / "secrets" / "identity").read_text().strip() == folder.name
    except OSError:
        return False


def check_forgotten_homes() -> Iterator[Finding]:
    """Of tests that were killed outright."""
    long_ago = time.time() - FORGOTTEN_SECONDS
    homes = [each for each in Path(tempfile.gettempdir()).glob(TEST_HOMES) if each.stat().st_mtime < long_ago]
    if homes:
        yield from report_unowned("Homes of tests that were killed", homes)


def report_unowned(subject: str, folders: Iterable[Path]) -> Iterator[Finding]:
    sorted_folders = sorted(folders)
    if not sorted_folders:
        yield good(f"{subject}: none.")
        return
    names = ", ".join(each.name for each in sorted_folders[:MOST_NAMED]) + (
        ", ..." if len(sorted_folders) > MOST_NAMED else ""
    )
    total_size = size_text(sum(map(folder_bytes, sorted_folders)))
    yield warning(
        f"{subject}: {len(sorted_folders)}, {total_size} ({names}).", "If nobody misses them, delete them with `rm -r`."
    )


def folder_bytes(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file() and not each.is_symlink())


def subfolders(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []
