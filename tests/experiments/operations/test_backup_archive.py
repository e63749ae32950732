"""Files that are no backup, are damaged, or mean harm: each is refused before anything is restored."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from experiments.operations.backup.archive import ArchiveWriter, BackupError, Manifest, unpack_archive, write_whole_file

DUMP = b"rows"
LOG = b"Attempt 1 on worker-1\n"
FACTS: dict[str, Any] = {
    "product": "tributary-backup",
    "format": 1,
    "made": "2026-03-01T12:00:00+00:00",
    "home": "/srv/lab",
    "postgres": "18.1",
    "migrations": ["experiments.0001_initial"],
    "tables": {"experiments_run": {"rows": 2, "sum": "17"}},
}


def file_facts(**files: bytes) -> dict[str, Any]:
    return {name: {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()} for name, raw in files.items()}


GOOD = {"database.dump": DUMP, "home/runs/7/log.txt": LOG}


def archive(path: Path, files: dict[str, bytes], manifest: Any, kind: bytes = tarfile.REGTYPE) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, raw in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.linkname = len(raw), "/etc/passwd"
            entry.type = kind if name.startswith("home/") else tarfile.REGTYPE
            tar.addfile(entry, io.BytesIO(raw))
        raw = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
        entry = tarfile.TarInfo("manifest.json")
        entry.size = len(raw)
        tar.addfile(entry, io.BytesIO(raw))
    return path


def with_files(held: dict[str, bytes], **changes: Any) -> dict[str, Any]:
    return FACTS | {"files": file_facts(**held)} | changes


def refusal(path: Path, folder: Path) -> str:
    with pytest.raises(BackupError) as refused:
        unpack_archive(path, folder)
    return str(refused.value)


def test_what_was_written_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(DUMP)
    (tmp_path / "log").write_bytes(LOG)
    with write_whole_file(tmp_path / "lab.backup") as file:
        writer = ArchiveWriter(file)
        assert writer.add("database.dump", tmp_path / "dump")
        assert writer.add("home/runs/7/log.txt", tmp_path / "log")
        assert not writer.add("home/runs/7/gone", tmp_path / "gone")
        writer.finish(Manifest("noon", "/srv/lab", "18.1", ["experiments.0001_initial"], {}, writer.files))

    assert (tmp_path / "lab.backup").stat().st_mode & 0o777 == 0o600
    manifest = unpack_archive(tmp_path / "lab.backup", tmp_path / "out")
    assert (tmp_path / "out/database.dump").read_bytes() == DUMP
    assert (tmp_path / "out/home/runs/7/log.txt").read_bytes() == LOG
    assert manifest.home == "/srv/lab"
    assert list(manifest.files) == ["database.dump", "home/runs/7/log.txt"]
    assert manifest.files["database.dump"].sha256 == hashlib.sha256(b"rows").hexdigest()


def test_a_file_that_is_there_is_never_overwritten_and_a_broken_off_one_never_appears(tmp_path: Path) -> None:
    path = tmp_path / "lab.backup"
    with pytest.raises(ZeroDivisionError), write_whole_file(path) as file:
        file.write(bytes(1 // 0))
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"mine")
    with (
        pytest.raises(BackupError, match="is there already: give the backup another name"),
        write_whole_file(path) as file,
    ):
        file.write(b"other")
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"mine", [path])


ESCAPES = (
    "home/runs/../../../etc/cron.d/x",
    "/etc/cron.d/x",
    "home/secrets/secret-key",
    "home/runs",
    "home//runs/7/log.txt",
    "home/runs/..\\..\\x",
    "database.dump/../x",
)


@pytest.mark.parametrize("name", ESCAPES)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    files = {"database.dump": DUMP, name: b"harm"}
    message = refusal(archive(tmp_path / "bad", files, with_files(files)), tmp_path / "out")
    assert message == f"The file holds {name!r}, which has no place in a home: nothing was restored."
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    files = {"database.dump": DUMP, "home/runs/7/log.txt": b""}
    message = refusal(archive(tmp_path / "bad", files, with_files(files), kind), tmp_path / "out")
    assert message.startswith("The file holds 'home/runs/7/log.txt', which has no place in a home")


@pytest.mark.parametrize(
    ("files", "manifest", "reason"),
    [
        (GOOD, with_files(GOOD, product="tar"), "another program's"),
        (GOOD, with_files(GOOD, format=2), "has format 2, but this Tributary reads 1: install a newer one"),
        (GOOD, b"{", "manifest cannot be read"),
        (GOOD, [], "manifest cannot be read"),
        (GOOD, with_files(GOOD, surprise=1), "manifest cannot be read"),
        (GOOD, with_files(GOOD, files=None), "manifest cannot be read"),
        ({"database.dump": DUMP}, with_files(GOOD), "does not hold what its manifest names"),
        (GOOD, with_files({"database.dump": DUMP}), "does not hold what its manifest names"),
        ({}, with_files({}), "holds no dump of the database"),
        (GOOD, with_files(GOOD | {"database.dump": b"rowz"}), "database.dump is not as it was backed up"),
        (GOOD, with_files(GOOD | {"home/runs/7/log.txt": b""}), "home/runs/7/log.txt is not as it was backed up"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_refused(
    tmp_path: Path, files: dict[str, bytes], manifest: Any, reason: str
) -> None:
    assert reason in refusal(archive(tmp_path / "bad", files, manifest), tmp_path / "out")


def test_a_file_that_is_no_backup_or_was_cut_off_is_refused(tmp_path: Path) -> None:
    whole = archive(tmp_path / "whole", GOOD, with_files(GOOD)).read_bytes()
    for name, raw in {"text": b"hello" * 200, "empty": b"", "cut": whole[:1200], "cut later": whole[:1600]}.items():
        (tmp_path / name).write_bytes(raw)
        message = refusal(tmp_path / name, tmp_path / f"{name} out")
        assert "no backup of Tributary" in message or "damaged" in message, (name, message)
    with tarfile.open(tmp_path / "other", "w") as tar:
        tar.add(tmp_path / "text", "text")
    assert refusal(tmp_path / "other", tmp_path / "o") == (
        "The file has no manifest: it is no backup of Tributary, or was cut off."
    )


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "bad", GOOD, with_files(GOOD))
    with tarfile.open(path, "a") as tar:
        entry = tarfile.TarInfo("database.dump")
        tar.addfile(entry, io.BytesIO(b""))
    assert "does not hold what its manifest names" in refusal(path, tmp_path / "out")
