"""Archives (.zip, .fab) from people's browsers, unpacked only after everything in them has been looked at."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from workers.apps.package import MANIFEST, MOST_BYTES, MOST_FILES, AppError

MOST_RATIO = 200
"""Times its packed size that a file may have unpacked: text reaches 20, a bomb a thousand."""
SMALL_FILE = 1_000_000
PIECE = 1 << 20


def unpack(archive: IO[bytes] | Path, folder: Path) -> None:
    """All files of an app's archive below an empty folder; nothing is written where anything is wrong with it."""
    try:
        with zipfile.ZipFile(archive) as packed:
            members = {target: member for member, target in checked_members(packed)}
            for target, member in members.items():
                write_member(packed, member, folder / target)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise AppError(f"This is not a readable .zip or .fab ({error}).") from None


def checked_members(packed: zipfile.ZipFile) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Each file with its place below the app's folder; one folder around everything is taken off."""
    files = [member for member in packed.infolist() if not member.is_dir()]
    if len(files) > MOST_FILES:
        raise AppError(f"The archive has {len(files):,} files; an app may have {MOST_FILES:,}.")
    if sum(member.file_size for member in files) > MOST_BYTES:
        raise AppError(f"Unpacked the archive is larger than {MOST_BYTES // 1_000_000:,} MB.")
    places = [member_place(member) for member in files]
    if len(set(map(str, places))) < len(places):
        raise AppError("Two files of the archive have the same name.")
    prefix = common_folder(places)
    for member, place in zip(files, places, strict=True):
        yield member, place.relative_to(prefix)


def member_place(member: zipfile.ZipInfo) -> PurePosixPath:
    place = PurePosixPath(member.filename.replace("\\", "/"))
    if place.is_absolute() or ".." in place.parts or not place.parts or ":" in place.parts[0] or "\0" in str(place):
        raise AppError(f"{member.filename!r} lies outside of the app's folder.")
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise AppError(f"{member.filename!r} is a link or a device: only plain files are taken.")
    if member.flag_bits & 0x1:
        raise AppError(f"{member.filename!r} is encrypted.")
    if member.file_size > SMALL_FILE and member.file_size > MOST_RATIO * max(1, member.compress_size):
        raise AppError(
            f"{member.filename!r} unpacks to {member.file_size // max(1, member.compress_size):,} times its size."
        )
    return place


def common_folder(places: list[PurePosixPath]) -> PurePosixPath:
    """The folder in which the manifest lies: the top, or one folder around everything."""
    if PurePosixPath(MANIFEST) in places:
        return PurePosixPath()
    tops = {place.parts[0] for place in places}
    if len(tops) == 1 and PurePosixPath(*tops, MANIFEST) in places:
        return PurePosixPath(*tops)
    raise AppError(f"There is no {MANIFEST} at the top of the archive: pack the folder that has it.")


def write_member(packed: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    """What the directory of the archive promised about a size is held to while unpacking."""
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with packed.open(member) as source, target.open("wb") as file:
        while piece := source.read(PIECE):
            written += len(piece)
            if written > member.file_size:
                raise AppError(f"{member.filename!r} is larger than the archive says.")
            file.write(piece)
