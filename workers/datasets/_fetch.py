"""A publisher's files over HTTP: resumable, checked, and in their place only once they are whole."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from workers.errors import DatasetError
from workers.home import home

TIMEOUT = 30
CHUNK = 1 << 18
PATIENCE = 3
"""So many tries in a row that bring not a byte end a download."""
Report = Callable[[float, str], None]


@dataclass(frozen=True)
class Original:
    """One file as published: its addresses in the order in which they are tried, and `md5:...` or `sha256:...`."""

    file: str
    addresses: tuple[str, ...]
    digest: str = ""


def originals_folder(name: str) -> Path:
    return home() / "originals" / name


def addresses_to_try(name: str, original: Original) -> tuple[str, ...]:
    """A lab's own mirror (TRIBUTARY_MIRROR/<data set>/<file>) takes the place of the publishers."""
    mirror = os.environ.get("TRIBUTARY_MIRROR", "").rstrip("/")
    return (f"{mirror}/{name}/{original.file}",) if mirror else original.addresses


def fetch_originals(name: str, originals: tuple[Original, ...], report: Report) -> Path:
    """The folder that holds all files; those that are there and whole are not fetched again."""
    folder = originals_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    with fetch_lock(folder, name):
        for done, original in enumerate(originals):

            def report_share(share: float, text: str, done: int = done) -> None:
                report((done + share) / len(originals), text)

            fetch_one(name, original, folder / original.file, report_share)
    return folder


@contextmanager
def fetch_lock(folder: Path, name: str) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DatasetError(f"{name} is being fetched already: wait until that has ended.") from None
        yield


def fetch_one(name: str, original: Original, target: Path, report: Report) -> None:
    if target.exists() and (not original.digest or digest_of(target, original.digest) == original.digest):
        return
    reasons = []
    for address in addresses_to_try(name, original):
        try:
            download(address, target, original.digest, report)
        except (URLError, HTTPException, OSError) as error:
            refuse_full_disk(error, target)
            reasons.append(f"{address}: {reason_of(error)}")
        else:
            return
    raise DatasetError(unreachable_message(name, reasons))


def unreachable_message(name: str, reasons: list[str]) -> str:
    import_them = f"put the originals in a folder and import them: manage.py datasets import {name} PATH"
    if all("answers" in reason for reason in reasons):
        return f"The publisher does not hand it out ({'; '.join(reasons)}): {import_them}"
    return f"no network: {import_them} ({'; '.join(reasons)})"


def reason_of(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"answers {error.code} {error.reason}"
    return str(getattr(error, "reason", "") or error)


def refuse_full_disk(error: Exception, target: Path) -> None:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        raise DatasetError(f"The disk is full: make room below {target.parent} and fetch again, it goes on.") from None


def download(address: str, target: Path, digest: str, report: Report) -> None:
    """Into a `.part` file, which is continued after a cut and by a later call; then checked and moved to its place."""
    part = target.with_name(f"{target.name}.part")
    fruitless = 0
    while not (step := continue_download(address, part, target.name, report)).is_whole:
        fruitless = 0 if step.byte_count else fruitless + 1
        if fruitless == PATIENCE:
            raise URLError("the connection is cut again and again")
    if digest and (actual := digest_of(part, digest)) != digest:
        part.unlink()
        raise DatasetError(
            f"{target.name} from {address} is not what its publisher lists ({actual} instead of {digest}). "
            "Nothing was kept: fetch again, or import a copy you trust."
        )
    part.replace(target)


@dataclass(frozen=True)
class DownloadStep:
    """How many bytes came, and whether the file is whole now."""

    byte_count: int
    is_whole: bool


def continue_download(address: str, part: Path, file: str, report: Report) -> DownloadStep:
    """Asks for what is missing."""
    size_before = part.stat().st_size if part.exists() else 0
    rest = {"Range": f"bytes={size_before}-"} if size_before else {}
    request = Request(address, headers={"User-Agent": "Tributary", **rest})
    try:
        response = cast(HTTPResponse, urlopen(request, timeout=TIMEOUT))
    except HTTPError as error:
        if error.code != 416:
            raise
        return DownloadStep(0, complete_or_gone(error, part, size_before))
    with response:
        start = size_before if response.status == 206 and starts_at(response, size_before) else 0
        total = start + int(response.headers["Content-Length"]) if response.headers["Content-Length"] else None

        def report_size(now: int) -> None:
            report(now / total if total else 0, progress_text(file, now, total))

        byte_count = append_body(response, part, start, report_size)
    return DownloadStep(byte_count, total is None or start + byte_count == total)


def complete_or_gone(error: HTTPError, part: Path, size_before: int) -> bool:
    """Nothing is left to ask for: the part is the whole file, or longer than it and so of another one."""
    error.close()
    if error.headers.get("Content-Range") == f"bytes */{size_before}":
        return True
    part.unlink()
    return False


def starts_at(response: HTTPResponse, place: int) -> bool:
    return response.headers.get("Content-Range", "").startswith(f"bytes {place}-")


def append_body(response: HTTPResponse, part: Path, start: int, report_size: Callable[[int], None]) -> int:
    """Bytes that came before the end, or before the connection was cut."""
    byte_count = 0
    with part.open("r+b" if start else "wb") as file:
        file.seek(start)
        while chunk := next_chunk(response):
            file.write(chunk)
            byte_count += len(chunk)
            report_size(start + byte_count)
        file.flush()
        os.fsync(file.fileno())
    return byte_count


def next_chunk(response: HTTPResponse) -> bytes:
    """Nothing where the connection is cut: the next try goes on from there."""
    try:
        return response.read(CHUNK)
    except (ConnectionError, TimeoutError, HTTPException):
        return b""


def progress_text(file: str, now: int, total: int | None) -> str:
    of = f" of {total / 1e6:,.1f}" if total else ""
    return f"{file}: {now / 1e6:,.1f}{of} MB"


def digest_of(path: Path, like: str) -> str:
    kind = like.partition(":")[0]
    with path.open("rb") as file:
        return f"{kind}:{hashlib.file_digest(file, kind).hexdigest()}"
