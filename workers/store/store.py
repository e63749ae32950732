"""The store: `TRIBUTARY_STORE`, a folder or any address that fsspec knows.

    tributary-store.json             says that this is a store: an unmounted folder or a wrong bucket has none
    runs/RUN/checkpoints/NAME/...    bundles; each counts once NAME.json beside it is written, which has size and
    runs/RUN/artifacts/TOKEN/...     SHA-256 of every file
    datasets/NAME/CHECKSUM/...       datasets/NAME/current: the checksum in use
    apps/NAME/HASH/...
    logs/RUN/0001.TOKEN.txt          what each attempt said

Every request is repeated a few times, a little later each time. What is not there, or is not what was written, is told
apart from a store that does not answer: only the latter may be better in a minute.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from workers.errors import TributaryError
from workers.home import home

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

Answer = TypeVar("Answer")
MARK = "tributary-store.json"
FORMAT = 1
CHUNK = 1 << 20
PAUSES = (0.1, 0.5, 1.0, 2.0)
"""Between the tries of a request; after them the store counts as away."""
REST_SECONDS = 5.0
"""For so long nobody asks a store that has just been away: a page must not wait for what it can do without."""
S3_CONFIG = {"connect_timeout": 5, "read_timeout": 20, "retries": {"max_attempts": 1}}
FOLDERS, OBJECTS = ("file", "local"), ("s3", "s3a")
logger = logging.getLogger(__name__)


class StoreError(TributaryError):
    """What the store was asked for, it does not give."""


class StoreAwayError(StoreError):
    """It does not answer, or refuses: later may be better."""


class NotStoredError(StoreError):
    """It answers, and has no such thing."""


class DamagedCopyError(StoreError):
    """What it has is not what was written."""


@dataclass(frozen=True)
class StoredFacts:
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Bundle:
    """Files that belong together, by name. Those of a `joined` one are the parts of a single file, in their order."""

    files: Mapping[str, StoredFacts]
    joined: bool = False

    def as_text(self) -> str:
        text = json.dumps({"format": FORMAT, **asdict(self)})
        return json.dumps({"bundle": text, "sha256": hashlib.sha256(text.encode()).hexdigest()})


def parse_bundle(key: str, content: bytes) -> Bundle:
    try:
        document = json.loads(content)
        text = document["bundle"]
        if hashlib.sha256(text.encode()).hexdigest() != document["sha256"]:
            raise ValueError("its checksum differs")
        fields = json.loads(text)
        if fields["format"] != FORMAT:
            raise ValueError(f"it has format {fields['format']}, and this version reads {FORMAT}")
        files = {name: StoredFacts(**facts) for name, facts in fields["files"].items()}
        if odd := [name for name in files if not is_inside(name)]:
            raise ValueError(f"{odd[0]!r} leads elsewhere")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedCopyError(f"The list of files of {key} cannot be used: {error}.") from None
    return Bundle(files, bool(fields["joined"]))


def is_inside(name: str) -> bool:
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts and "\0" not in name


class Store:
    """One store, for any thread. `label` is its address without what may be secret in it."""

    def __init__(self, address: str) -> None:
        self.address, self.label = address, address_label(address)
        self.away: StoreAwayError | None = None
        self.errors = 0
        self.asked_again_at = 0.0

    @cached_property
    def opened(self) -> tuple[AbstractFileSystem, str]:
        """On first use: what speaks to object stores takes a while to import."""
        from fsspec.core import split_protocol, url_to_fs

        protocol = split_protocol(self.address)[0] or "file"
        options: dict[str, Any] = {"use_listings_cache": False}
        if protocol in FOLDERS:
            options["auto_mkdir"] = True
        if protocol in OBJECTS:
            options["config_kwargs"] = S3_CONFIG
        try:
            filesystem, root = url_to_fs(self.address, **options)
            return filesystem, root
        except (ImportError, ValueError) as error:
            raise StoreError(f"TRIBUTARY_STORE ({self.label}) cannot be used: {error}") from None

    @property
    def filesystem(self) -> AbstractFileSystem:
        return self.opened[0]

    @cached_property
    def renames(self) -> bool:
        """Whether files can be written aside and moved; an object appears when it is whole."""
        protocols = self.filesystem.protocol
        return any(each in FOLDERS for each in ([protocols] if isinstance(protocols, str) else protocols))

    def place(self, key: str) -> str:
        return f"{self.opened[1].rstrip('/')}/{key}"

    def answer(self, what: str, request: Callable[[], Answer]) -> Answer:
        """Every protocol has errors of its own; all but a file that is not there may pass."""
        if self.away and time.monotonic() < self.asked_again_at:
            raise StoreAwayError(self.away.detail)
        for pause in (*PAUSES, None):
            try:
                answer = request()
                self.away = None
                return answer
            except FileNotFoundError:
                if what != MARK:
                    self.check()
                raise NotStoredError(f"{what} is not in the store {self.label}.") from None
            except Exception as error:
                failure = error
            if pause is not None:
                time.sleep(pause)
        if isinstance(failure, StoreError):
            raise failure
        words = (str(failure).splitlines() or [""])[0]
        reason = f"{type(failure).__name__}: {words}" if words else type(failure).__name__
        self.errors += 1
        self.away = StoreAwayError(f"The store {self.label} does not answer ({reason}).")
        self.asked_again_at = time.monotonic() + REST_SECONDS
        raise self.away from failure

    def check(self) -> None:
        """A folder that is not mounted is empty, and must not count as a store without checkpoints."""
        try:
            self.read(MARK)
        except NotStoredError:
            raise StoreAwayError(
                f"{self.label} is no store of Tributary: it has no {MARK}. Is it mounted, and is TRIBUTARY_STORE what "
                "the platform was started with?"
            ) from None

    def create(self) -> None:
        """Makes it a store, once; the platform does so when it starts, its workers never."""
        try:
            self.read(MARK)
        except NotStoredError:
            self.write(MARK, json.dumps({"product": "tributary-store", "format": FORMAT}).encode())

    def read(self, key: str, start: int | None = None, end: int | None = None) -> bytes:
        content: bytes = self.answer(key, lambda: self.filesystem.cat_file(self.place(key), start=start, end=end))
        return content

    def write(self, key: str, content: bytes) -> None:
        def write_once() -> None:
            with self.writing(key) as file:
                file.write(content)

        self.answer(key, write_once)

    @contextmanager
    def writing(self, key: str) -> Iterator[IO[bytes]]:
        target = self.place(key)
        if self.renames and key != MARK and not self.filesystem.exists(self.place(MARK)):
            # Into the bare folder on which it should be mounted, and nobody would ever find it.
            raise OSError(f"it has no {MARK}: is it mounted?")
        folder, _, name = target.rpartition("/")
        aside = f"{folder}/.{name}.{uuid4().hex}" if self.renames else target
        try:
            with self.filesystem.open(aside, "wb") as file:
                yield file
            if self.renames:
                self.filesystem.mv(aside, target)
        except BaseException:
            if self.renames:
                with suppress(Exception):
                    self.filesystem.rm_file(aside)
            raise

    def upload(self, path: Path, key: str, start: int = 0) -> StoredFacts:
        """From byte `start` on, as far as the file goes now; what is hashed is what was sent."""

        def upload_once() -> StoredFacts:
            digest, size = hashlib.sha256(), 0
            with path.open("rb") as source, self.writing(key) as target:
                source.seek(start)
                while chunk := source.read(CHUNK):
                    digest.update(chunk)
                    size += len(chunk)
                    target.write(chunk)
            return StoredFacts(size, digest.hexdigest())

        return self.answer(key, upload_once)

    def download(self, key: str, path: Path, facts: StoredFacts) -> None:
        def download_once() -> None:
            self.filesystem.get_file(self.place(key), str(path))
            if (here := facts_of(path)) != facts:
                raise DamagedCopyError(
                    f"{key} in the store {self.label} is not what was written: {here.bytes} bytes with the SHA-256 "
                    f"{here.sha256[:12]} in place of {facts.bytes} with {facts.sha256[:12]}."
                )

        path.parent.mkdir(parents=True, exist_ok=True)
        self.answer(key, download_once)

    def publish(self, key: str, files: Mapping[str, Path], *, joined: bool = False) -> Bundle:
        """They count once the list of them is written, last of all."""
        bundle = Bundle({name: self.upload(path, f"{key}/{name}") for name, path in files.items()}, joined)
        self.write_bundle(key, bundle)
        return bundle

    def write_bundle(self, key: str, bundle: Bundle) -> None:
        self.write(f"{key}.json", bundle.as_text().encode())

    def bundle(self, key: str) -> Bundle:
        return parse_bundle(key, self.read(f"{key}.json"))

    def has_bundle(self, key: str) -> bool:
        try:
            return bool(self.bundle(key))
        except (NotStoredError, DamagedCopyError):
            return False

    def fetch(self, key: str, target: Path) -> None:
        """The folder, or the file that its parts make, appears when every checksum holds."""
        bundle = self.bundle(key)
        draft = target.with_name(f".{target.name}.{uuid4().hex}")
        try:
            for name, facts in bundle.files.items():
                self.download(f"{key}/{name}", draft / name, facts)
            if bundle.joined:
                join_parts([draft / name for name in bundle.files], whole := draft / ".whole")
                whole.replace(target)
            else:
                draft.mkdir(parents=True, exist_ok=True)
                put_folder(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def sizes(self, key: str) -> dict[str, int]:
        """The files right below it, by name."""
        return {name: size for name, size in self.entries(key).items() if size is not None}

    def folders(self, key: str) -> list[str]:
        return [name for name, size in self.entries(key).items() if size is None]

    def entries(self, key: str) -> dict[str, int | None]:
        """By name the size, of folders none; what is being written has a hidden name."""

        def list_once() -> list[dict[str, Any]]:
            try:
                found: list[dict[str, Any]] = self.filesystem.ls(self.place(key), detail=True)
            except FileNotFoundError:
                return []
            return found

        names = {
            each["name"].rstrip("/").rpartition("/")[2]: None if each["type"] == "directory" else int(each["size"])
            for each in self.answer(key, list_once)
        }
        return {name: names[name] for name in sorted(names) if name and name[0] != "."}

    def remove(self, key: str) -> None:
        """The list first: half a bundle must not look like one."""

        def remove_once() -> None:
            with suppress(FileNotFoundError):
                self.filesystem.rm_file(self.place(f"{key}.json"))
            with suppress(FileNotFoundError):
                self.filesystem.rm(self.place(key), recursive=True)

        self.answer(key, remove_once)


def facts_of(path: Path) -> StoredFacts:
    with path.open("rb") as file:
        return StoredFacts(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def join_parts(parts: list[Path], whole: Path) -> None:
    whole.parent.mkdir(parents=True, exist_ok=True)
    with whole.open("wb") as target:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, target, CHUNK)


def put_folder(draft: Path, target: Path) -> None:
    """Whoever was faster has put the same there."""
    try:
        draft.rename(target)
    except OSError:
        if not target.is_dir():
            raise


def address_label(address: str) -> str:
    scheme, mark, rest = address.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else address


def remote_store() -> Store | None:
    """None where the store is this home, as it is unless TRIBUTARY_STORE says otherwise."""
    address = os.environ.get("TRIBUTARY_STORE", "").strip()
    if not address or ("://" not in address and Path(address).expanduser().resolve() == home().resolve()):
        return None
    return open_store(address)


def store_errors() -> int:
    """How often the store did not answer this process."""
    store = remote_store()
    return store.errors if store else 0


@lru_cache(maxsize=8)
def open_store(address: str) -> Store:
    return Store(str(Path(address).expanduser()) if "://" not in address else address)
