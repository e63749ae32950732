"""A publisher's files as a lab has them on disk: in a folder, below it, or still inside their archives."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from fnmatch import fnmatch
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Self

from workers.errors import DatasetError
from workers.home import home

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
MOST_NESTING = 2
GZIP = b"\x1f\x8b"
PIECE = 1 << 20
MOST_EXPANSION = 100
ALWAYS_ALLOWED = 64 << 20
"""Bytes that anything may unpack to, however small it was."""
Opener = Callable[[], IO[bytes]]


class Originals:
    """Every file below a folder (or in an archive), found by the end of its path and read whole.

    `name.gz` answers for `name`; archives inside the folder, and archives inside those, are looked into. Where folders
    are given to stay `within`, no link leads out of them.
    """

    def __init__(self, source: Path, within: Sequence[Path] = ()) -> None:
        if not source.exists():
            raise DatasetError(f"{source} does not exist. Give the folder or archive that holds the originals.")
        self.source, self.within = source, within
        self.archives = ExitStack()
        self.files: dict[str, Opener] = {}

    def __enter__(self) -> Self:
        with ExitStack() as opened_so_far:
            self.archives = opened_so_far
            for path, opener in files_on_disk(self.source, self.within):
                self.add(path, opener, MOST_NESTING)
            self.archives = opened_so_far.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self.archives.close()

    def add(self, path: str, opener: Opener, nesting: int) -> None:
        """The file itself, or what is in it where it is an archive."""
        if nesting and path.endswith(ARCHIVES):
            self.add_members(path, self.archives.enter_context(opener()), nesting)
        elif path.endswith(".gz"):
            self.files[path.removesuffix(".gz")] = partial(open_unpacked, path, opener)
        else:
            self.files[path] = opener

    def add_members(self, path: str, file: IO[bytes], nesting: int) -> None:
        members = zip_members if path.endswith(".zip") else tar_members
        folder = PurePosixPath(path).parent
        try:
            for name, opener in members(file, self.archives):
                self.add((folder / name).as_posix(), opener, nesting - 1)
        except (zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DatasetError(f"{path} is not a complete archive: {error}. Get it again.") from None

    def find(self, pattern: str) -> list[str]:
        """Paths whose last parts match the pattern, such as `train/*.json`, in sorted order."""
        return sorted(path for path in self.files if fnmatch(path, pattern) or fnmatch(path, f"*/{pattern}"))

    def read(self, path: str) -> bytes:
        try:
            return read_all(self.files[path])
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile, tarfile.TarError) as error:
            raise DatasetError(f"{path} in {self.source} cannot be read: {error}. Get it again.") from None

    def one(self, *patterns: str) -> bytes:
        """The first file that matches the first pattern that has any."""
        for pattern in patterns:
            if paths := self.find(pattern):
                return self.read(paths[0])
        raise DatasetError(f"No {' or '.join(patterns)} in {self.source}. Give the folder that holds the originals.")


def files_on_disk(source: Path, within: Sequence[Path]) -> Iterator[tuple[str, Opener]]:
    if source.is_file():
        yield source.name, partial(open_bytes, source, within)
        return
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        yield path.relative_to(source).as_posix(), partial(open_bytes, path, within)


def open_bytes(path: Path, within: Sequence[Path]) -> IO[bytes]:
    """Looks at what was opened, not at what is there to be opened: a link may be set between the two.

    A pipe is opened without waiting for whoever may never write into it, and refused.
    """
    file = open(path, "rb", opener=open_without_waiting)  # noqa: SIM115 (whoever asked closes it)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise DatasetError(f"{path} is no file: take it away.")
    if within:
        real = Path(f"/proc/self/fd/{file.fileno()}").readlink()
        if not any(real.is_relative_to(folder) for folder in within):
            file.close()
            raise DatasetError(f"{path} leads out of the folders that may be imported from.")
    return file


def open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def read_all(opener: Opener) -> bytes:
    with opener() as file:
        return file.read()


def zip_members(file: IO[bytes], kept_open: ExitStack) -> Iterator[tuple[str, Opener]]:
    archive = kept_open.enter_context(zipfile.ZipFile(file))
    for info in archive.infolist():
        if not info.is_dir():
            yield info.filename, partial(open_zip_member, archive, info)


def open_zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> IO[bytes]:
    """By the size it declares, which `zipfile` holds it to while it is read."""
    refuse_bomb(info.filename, info.file_size, info.compress_size)
    return archive.open(info)


def tar_members(file: IO[bytes], kept_open: ExitStack) -> Iterator[tuple[str, Opener]]:
    archive = kept_open.enter_context(tarfile.TarFile(fileobj=uncompressed(file, kept_open)))
    for info in archive:
        if info.isfile():
            yield info.name, partial(open_member, archive, info)


def uncompressed(file: IO[bytes], kept_open: ExitStack) -> IO[bytes]:
    """Unpacked once: going back in a compressed file starts it all over, for each of CINIC-10's 270,000 pictures."""
    compressed = file.read(2) == GZIP
    file.seek(0)
    if not compressed:
        return file
    home().mkdir(parents=True, exist_ok=True)
    unpacked: IO[bytes] = tempfile.TemporaryFile(dir=home())  # noqa: SIM115 (the stack closes it)
    kept_open.enter_context(unpacked)
    unpack(str(getattr(file, "name", "archive")), file, unpacked)
    unpacked.seek(0)
    return unpacked


def open_unpacked(path: str, opener: Opener) -> IO[bytes]:
    unpacked = io.BytesIO()
    with opener() as file:
        unpack(path, file, unpacked)
    unpacked.seek(0)
    return unpacked


def unpack(path: str, file: IO[bytes], target: IO[bytes]) -> None:
    """Piece by piece: what a gzip file declares of itself is only the rest of its size divided by 4 GB."""
    packed = file.seek(0, io.SEEK_END)
    file.seek(0)
    size = 0
    with gzip.open(file) as content:
        while piece := content.read(PIECE):
            size += len(piece)
            refuse_bomb(path, size, packed)
            target.write(piece)


def refuse_bomb(path: str, size: int, packed: int) -> None:
    """A small file can stand for terabytes; measurements and pictures shrink to a tenth, hardly to a hundredth."""
    if size > max(ALWAYS_ALLOWED, packed * MOST_EXPANSION):
        raise DatasetError(
            f"{path} unpacks to more than {MOST_EXPANSION} times its size, which no data set does: unpack it yourself, "
            "look at it, and import what you find."
        )


def open_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    return archive.extractfile(info) or io.BytesIO()
