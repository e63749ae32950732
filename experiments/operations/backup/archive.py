"""The one file a backup is: a tar with the database's dump, the home's files, and last a manifest of all of them.

    database.dump            pg_dump's own format
    home/runs/...            logs, final models, checkpoints of unfinished runs
    home/datasets/...        the lab's own data
    home/apps/...            versions of its Flower apps
    manifest.json            format, migrations, rows and sum of each table, size and SHA-256 of each file

A reader believes nothing that the manifest does not name, and no name that leads out of the folder it unpacks to.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

from workers.errors import TributaryError

FORMAT = 1
PRODUCT = "tributary-backup"
DUMP, MANIFEST, HOME = "database.dump", "manifest.json", "home"
KEPT_FOLDERS = ("runs", "datasets", "apps")
LARGEST_MANIFEST = 256 * 2**20
BLOCK = 1 << 20


class BackupError(TributaryError):
    """A backup that cannot be taken, or a file that cannot be restored."""


@dataclass(frozen=True)
class FileFacts:
    bytes: int
    sha256: str


@dataclass(frozen=True)
class TableFacts:
    """`sum` is of all rows, in whatever order they are stored."""

    rows: int
    sum: str


@dataclass(frozen=True)
class Manifest:
    made: str
    home: str
    postgres: str
    migrations: list[str]
    tables: Mapping[str, TableFacts]
    files: Mapping[str, FileFacts] = field(default_factory=dict)

    def text(self) -> str:
        return json.dumps({"product": PRODUCT, "format": FORMAT, **asdict(self)}, indent=1)


class HashingReader(io.RawIOBase):
    """Passes bytes on and remembers their sum."""

    def __init__(self, source: IO[bytes]) -> None:
        self.source, self.sum, self.count = source, hashlib.sha256(), 0

    def read(self, size: int = -1) -> bytes:
        block = self.source.read(size)
        self.sum.update(block)
        self.count += len(block)
        return block

    @property
    def facts(self) -> FileFacts:
        return FileFacts(self.count, self.sum.hexdigest())


class ArchiveWriter:
    """Adds files as they are at this moment; a file that grows meanwhile is kept up to where it was."""

    def __init__(self, file: IO[bytes]) -> None:
        self.tar = tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT)  # noqa: SIM115 (closed by `finish`)
        self.files: dict[str, FileFacts] = {}

    def add(self, name: str, path: Path) -> bool:
        """False where the file has gone, as a checkpoint does when a newer one is there."""
        try:
            opened_file = path.open("rb")
        except FileNotFoundError:
            return False
        with opened_file as file:
            status, source = os.fstat(file.fileno()), HashingReader(file)
            self.tar.addfile(tar_entry(name, status.st_size, status.st_mtime), source)
        self.files[name] = source.facts
        return True

    def finish(self, manifest: Manifest) -> None:
        raw = manifest.text().encode()
        self.tar.addfile(tar_entry(MANIFEST, len(raw)), io.BytesIO(raw))
        self.tar.close()


def tar_entry(name: str, size: int, mtime: float = 0) -> tarfile.TarInfo:
    """Without the names of accounts, which mean nothing elsewhere."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = size, int(mtime), 0o600
    return entry


@contextmanager
def write_whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Appears under its name at once when all is written, for its owner's eyes only; nothing is overwritten."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        raise BackupError(f"{path} is there already: give the backup another name.") from None
    finally:
        draft.unlink(missing_ok=True)


def unpack_archive(path: Path, folder: Path) -> Manifest:
    """Every file into the folder, or a `BackupError` if any is not what the manifest says. Nothing is run or loaded."""
    try:
        with tarfile.open(path, "r:") as tar:
            members = {each.name: each for each in tar}
            manifest = read_manifest(tar, members)
            check_members(tar, members, manifest)
            for name, facts in manifest.files.items():
                extract_file(tar, members[name], folder / name, facts)
    except (tarfile.TarError, EOFError) as error:
        raise BackupError(f"{path} is no backup of Tributary, or is damaged: {error}.") from None
    except OSError as error:
        raise BackupError(f"{path} cannot be unpacked: {error.strerror or error}.") from None
    return manifest


def read_manifest(tar: tarfile.TarFile, members: Mapping[str, tarfile.TarInfo]) -> Manifest:
    member = members.get(MANIFEST)
    file = tar.extractfile(member) if member and member.isreg() and member.size <= LARGEST_MANIFEST else None
    if file is None:
        raise BackupError("The file has no manifest: it is no backup of Tributary, or was cut off.")
    try:
        return parse_manifest(json.loads(file.read()))
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BackupError("The manifest cannot be read: the file is damaged.") from None


def parse_manifest(content: dict[str, Any]) -> Manifest:
    if content.pop("product") != PRODUCT:
        raise BackupError("The manifest is another program's: this is no backup of Tributary.")
    if (version := content.pop("format")) != FORMAT:
        raise BackupError(f"The backup has format {version}, but this Tributary reads {FORMAT}: install a newer one.")
    tables = {name: TableFacts(**facts) for name, facts in content.pop("tables").items()}
    files = {name: FileFacts(**facts) for name, facts in content.pop("files").items()}
    return Manifest(tables=tables, files=files, **content)


def check_members(tar: tarfile.TarFile, members: Mapping[str, tarfile.TarInfo], manifest: Manifest) -> None:
    if len(tar.getmembers()) != len(members) or members.keys() != {MANIFEST, *manifest.files}:
        raise BackupError("The file does not hold what its manifest names: it is damaged.")
    if DUMP not in members:
        raise BackupError("The file holds no dump of the database: it is damaged.")
    if odd := [each.name for each in members.values() if not (each.isreg() and is_safe_name(each.name))]:
        raise BackupError(f"The file holds {odd[0]!r}, which has no place in a home: nothing was restored.")


def is_safe_name(name: str) -> bool:
    if name in (DUMP, MANIFEST):
        return True
    parts = PurePosixPath(name).parts
    plain = "/".join(parts) == name and ".." not in parts and "\\" not in name and "\0" not in name
    return plain and len(parts) > 2 and parts[0] == HOME and parts[1] in KEPT_FOLDERS


def extract_file(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path, facts: FileFacts) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file = tar.extractfile(member)
    if file is None:
        raise BackupError(f"{member.name} cannot be read: the file is damaged.")
    source = HashingReader(file)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
        while block := source.read(BLOCK):
            target.write(block)
    if source.facts != facts:
        raise BackupError(f"{member.name} is not as it was backed up: the file is damaged.")
