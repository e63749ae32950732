"""What a run left that people may take away, in this home or in the store, and its log from any byte on."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Protocol
from uuid import UUID, uuid4

from experiments.labels.specs import spec_yaml
from experiments.models import Run
from workers.home import artifact_folder, file_key, home, log_file, run_folder
from workers.spec import is_app
from workers.store.copies import bundle_files, cache_folder, cached_file
from workers.store.store import Store, StoreError, remote_store

MODEL, SPEC, LOG = "model.safetensors", "spec.yaml", "log.txt"
WRITTEN, MOST_WRITTEN = "files", 200
APP_FILE = "Written by the app"
TOKEN = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class RunFile:
    name: str
    what: str
    bytes: int


@dataclass(frozen=True)
class KeptFile:
    """A file of this home, or one that the store has: `path` brings it here, which may take a while."""

    bytes: int
    path: Callable[[], Path]


def run_files(run: Run) -> list[RunFile]:
    descriptions = {MODEL: "The final model's parameters", LOG: "Everything that the run said"}
    again = "" if is_app(run.spec) else ": run it again with python -m workers.engine"
    spec = RunFile(SPEC, f"The spec{again}", len(spec_yaml(run.spec).encode()))
    return [
        spec,
        *(RunFile(name, descriptions.get(name, APP_FILE), file.bytes) for name, file in kept_files(run).items()),
    ]


def kept_files(run: Run) -> dict[str, KeptFile]:
    """By name; the final model first and the log last. A store that is away has nothing."""
    model, written, log = model_file(run), written_files(run) if is_app(run.spec) else {}, whole_log(run.pk)
    return {**({MODEL: model} if model else {}), **written, **({LOG: log} if log else {})}


def here(path: Path) -> KeptFile | None:
    return KeptFile(path.stat().st_size, lambda: path) if path.is_file() else None


def stored_files(run: int, token: UUID) -> dict[str, KeptFile]:
    """What an attempt left in the store."""
    key = file_key(artifact_folder(run, token))
    try:
        sizes = bundle_files(key)
    except StoreError:
        return {}
    return {name: KeptFile(size, partial(cached_file, key, name)) for name, size in sizes.items()}


def model_file(run: Run) -> KeptFile | None:
    path = artifact_path(run)
    if path is None or (file := here(path)):
        return file if path else None
    return stored_files(run.pk, UUID(path.parent.name)).get(path.name) if TOKEN.fullmatch(path.parent.name) else None


def written_files(run: Run) -> dict[str, KeptFile]:
    """What an app wrote into its working folder in the last attempt, by path; links are nobody's file."""
    token = run.attempts.order_by("-number").values_list("token", flat=True).first()
    if token is None:
        return {}
    folder = artifact_folder(run.pk, token) / WRITTEN
    if not folder.is_dir():
        names = {name: file for name, file in stored_files(run.pk, token).items() if name.startswith(f"{WRITTEN}/")}
        return dict(islice(names.items(), MOST_WRITTEN))
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    inside = (path for path in found if path.resolve().is_relative_to(folder.resolve()))
    files = ((f"{WRITTEN}/{path.relative_to(folder)}", here(path)) for path in islice(inside, MOST_WRITTEN))
    return {name: file for name, file in files if file}


def artifact_path(run: Run) -> Path | None:
    """Where the stored path says, but only inside the run's own folder."""
    if not run.artifact:
        return None
    path = (home() / run.artifact).resolve()
    return path if path.is_relative_to(run_folder(run.pk).resolve()) else None


def whole_log(run: int) -> KeptFile | None:
    source = log_source(run)
    try:
        size = source.size() if source else None
    except (OSError, StoreError):
        return None
    return KeptFile(size, source.path) if source and size is not None else None


class LogSource(Protocol):
    def size(self) -> int | None: ...
    def read(self, start: int, limit: int) -> bytes: ...
    def path(self) -> Path: ...


def log_source(run: int) -> LogSource | None:
    """What all attempts said into the store; that of this home where the run was computed before there was one."""
    store = remote_store()
    return StoredLog(store, run) if store and not log_file(run).is_file() else LogOfHome(log_file(run))


@dataclass(frozen=True)
class LogOfHome:
    file: Path

    def size(self) -> int | None:
        return self.file.stat().st_size if self.file.is_file() else None

    def read(self, start: int, limit: int) -> bytes:
        with self.file.open("rb") as file:
            file.seek(start)
            return file.read(limit)

    def path(self) -> Path:
        return self.file


@dataclass(frozen=True)
class StoredLog:
    """The logs of a run's attempts, one behind the other."""

    store: Store
    run: int

    @cached_property
    def parts(self) -> dict[str, int]:
        return {f"logs/{self.run}/{name}": size for name, size in self.store.sizes(f"logs/{self.run}").items()}

    def size(self) -> int | None:
        return sum(self.parts.values()) if self.parts else None

    def read(self, start: int, limit: int) -> bytes:
        pieces, before = [], 0
        for key, size in self.parts.items():
            first, last = max(start, before), min(start + limit, before + size)
            if first < last:
                pieces.append(self.store.read(key, first - before, last - before))
            before += size
        return b"".join(pieces)

    def path(self) -> Path:
        """A copy as it is now."""
        target = cache_folder() / f"logs/{self.run}.txt"
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.{uuid4().hex}.part")
        draft.write_bytes(self.read(0, self.size() or 0))
        return draft.replace(target)


LOG_BYTES = 64 * 1024


@dataclass(frozen=True)
class LogPart:
    """`after` is where the next part begins; `here` is False where another machine holds the log, or none exists."""

    text: str
    after: int
    size: int
    here: bool = True


def run_log(*, run: int, after: int | None = None, limit: int = LOG_BYTES) -> LogPart:
    """At most `limit` bytes from byte `after` on; without `after`, or behind the end, the last whole lines."""
    source = log_source(run)
    try:
        size = source.size() if source else None
        if source is None or size is None:
            return LogPart("", 0, 0, here=False)
        tail = after is None or after > size
        start = max(0, size - limit) if after is None or after > size else after
        raw = source.read(start, limit)
    except (OSError, StoreError):
        return LogPart("", 0, 0, here=False)
    text, read = whole_characters(raw)
    if tail and start:
        text = text.partition("\n")[2] or text
    return LogPart(text, start + read, size)


def whole_characters(raw: bytes) -> tuple[str, int]:
    """The text, and how many bytes of it were whole: a character may be cut by the limit or half written."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(raw)
    return text, len(raw) - len(decoder.getstate()[0])
