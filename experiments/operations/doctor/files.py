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
from experiments.operations.doctor.findings import Finding, good, note, size, warning

TOLD = 5
FORGOTTEN_SECONDS = 24 * 3600
IDENTITY = re.compile(r"[0-9a-f]{12}")
TEST_HOMES = "tributary-test-*"


def run_folders() -> Iterator[Finding]:
    """Of runs that were deleted while another machine, or a crash, kept their files."""
    folder = settings.HOME.path / "runs"
    held = {int(each.name): each for each in listed(folder) if each.name.isdigit()}
    known = set(Run.objects.filter(pk__in=held).values_list("pk", flat=True))
    yield from unowned(f"Folders in {folder} without a run", [held[pk] for pk in sorted(held.keys() - known)])


def models() -> Iterator[Finding]:
    """Of done runs; those computed on a machine with another home are not here."""
    done = Run.objects.filter(state="done").exclude(artifact="").order_by("pk").values_list("pk", "artifact")
    gone = [pk for pk, path in done.iterator() if not (settings.HOME.path / path).exists()]
    if gone:
        runs = ", ".join(map(str, gone[:TOLD])) + (f" and {len(gone) - TOLD} more" if len(gone) > TOLD else "")
        yield note(f"The final model is not in this home: run {runs}.", "Their numbers are safe in the database.")
    else:
        yield good("Every done run has its final model.")


def account_folders() -> Iterator[Finding]:
    """As root, the servers' data lie apart from the home, which remembers their place."""
    orphans = [each for each in listed(account.SHARED) if IDENTITY.fullmatch(each.name) and not has_home(each)]
    yield from unowned(f"Servers' data in {account.SHARED} whose home is gone", orphans)


def has_home(folder: Path) -> bool:
    try:
        home = Path((folder / "home").read_text().strip())
        return (home / "secrets" / "identity").read_text().strip() == folder.name
    except OSError:
        return False


def forgotten_homes() -> Iterator[Finding]:
    """Of tests that were killed outright."""
    long_ago = time.time() - FORGOTTEN_SECONDS
    found = [each for each in Path(tempfile.gettempdir()).glob(TEST_HOMES) if each.stat().st_mtime < long_ago]
    if found:
        yield from unowned("Homes of tests that were killed", found)


def unowned(what: str, folders: Iterable[Path]) -> Iterator[Finding]:
    found = sorted(folders)
    if not found:
        yield good(f"{what}: none.")
        return
    names = ", ".join(each.name for each in found[:TOLD]) + (", ..." if len(found) > TOLD else "")
    held = size(sum(map(bytes_in, found)))
    yield warning(f"{what}: {len(found)}, {held} ({names}).", "If nobody misses them, delete them with `rm -r`.")


def bytes_in(folder: Path) -> int:
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file() and not each.is_symlink())


def listed(folder: Path) -> list[Path]:
    return [each for each in folder.iterdir() if each.is_dir()] if folder.is_dir() else []
