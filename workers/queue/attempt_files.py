"""Where an attempt at a run writes, what it goes on from, and how its files come into the store.

By default the store is the home: everything is written where it stays. With a store elsewhere an attempt writes into a
folder of its own, from which files are uploaded beside the computation; the folder is gone once all of them are there.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from uuid import UUID

from workers.engine.checkpoint import NAME, UNFINISHED, checkpoints_in, round_of, sync_to_disk, token_of
from workers.home import (
    artifact_folder,
    attempt_folder,
    checkpoint_folder,
    checkpoint_key,
    file_key,
    home,
    log_file,
    run_folder,
)
from workers.queue.uploads import Upload, Uploads
from workers.store.store import Bundle, DamagedCopyError, NotStoredError, Store, StoredFacts, remote_store

LOG_SECONDS = 10.0
"""Between two uploads of a log that grows."""
KEPT_CHECKPOINTS = 2
KEPT = "-kept"
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Saved:
    """A checkpoint that another machine can go on from: `key` is its path in home and store."""

    round: int
    key: str


@dataclass
class Resumable:
    """Checkpoints to go on from, the furthest first, and why others are none of them."""

    paths: list[Path] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


class AttemptFiles(Protocol):
    checkpoints: Path
    artifacts: Path
    log: Path

    def resumable(self, stored: tuple[str, ...]) -> Resumable: ...
    def add_checkpoint(self, number: int, path: Path) -> None: ...
    def take_saved(self) -> Saved | None: ...
    def record(self, saved: Saved) -> None: ...
    def keep_log(self) -> None: ...
    def drop_checkpoints(self) -> None: ...
    def add_artifacts(self) -> None: ...
    def wait(self, seconds: float) -> bool: ...
    @property
    def problem(self) -> str: ...
    @property
    def has_artifacts(self) -> bool: ...
    def artifact_key(self, path: str) -> str: ...
    def close(self, *, done: bool) -> None: ...
    def discard(self) -> None: ...


def attempt_files(run: int, token: UUID, attempt: int) -> AttemptFiles:
    store = remote_store()
    return StoredFiles(store, run, token, attempt) if store else HomeFiles(run, token)


class HomeFiles:
    """Nothing moves: what is written is where everybody looks for it.

    But the engine removes its older checkpoints as it goes on, and rounds may be faster than commits: one that a row
    shall name is kept under a name that the engine does not know.
    """

    def __init__(self, run: int, token: UUID) -> None:
        self.run = run
        self.checkpoints, self.artifacts, self.log = checkpoint_folder(run), artifact_folder(run, token), log_file(run)
        self.saved: Saved | None = None
        self.kept: deque[Path] = deque()

    def resumable(self, stored: tuple[str, ...]) -> Resumable:
        """Whether they can be used, the run's process says; behind each what the same attempt saved before."""
        paths = [self.local_path(each) for each in stored]
        return Resumable([each for path in paths for each in (path, *older_checkpoints(path))])

    def local_path(self, stored: str) -> Path:
        key = checkpoint_key(self.run, stored)
        return home() / key if key and ((home() / key).exists() or not Path(stored).is_absolute()) else Path(stored)

    def add_checkpoint(self, number: int, path: Path) -> None:
        if path.is_file():
            self.saved = Saved(number, file_key(path))
            return
        kept = path.with_name(f"{path.name}{KEPT}")
        try:
            keep_folder(path, kept)
        except OSError as error:  # As a rule because the engine has removed it by now: a newer one is on its way.
            logger.info("Run %s: the checkpoint of round %s is not kept: %s", self.run, number, error)
            return
        self.kept.append(kept)
        self.saved = Saved(number, file_key(kept))

    def take_saved(self) -> Saved | None:
        saved, self.saved = self.saved, None
        return saved

    def record(self, saved: Saved) -> None:
        """Its row is written: what is older than the one before it can go."""
        while saved.key in map(file_key, list(self.kept)[KEPT_CHECKPOINTS:]):
            shutil.rmtree(self.kept.popleft(), ignore_errors=True)

    def keep_log(self) -> None:
        """It is where it stays."""

    def drop_checkpoints(self) -> None:
        """They go with the end of the run."""

    def add_artifacts(self) -> None:
        """They are where they stay."""

    def wait(self, seconds: float) -> bool:
        return True

    problem, has_artifacts = "", True

    def artifact_key(self, path: str) -> str:
        return file_key(Path(path))

    def close(self, *, done: bool) -> None:
        if done:
            shutil.rmtree(self.checkpoints, ignore_errors=True)

    def discard(self) -> None:
        """Only its worker knows what of this still counts."""


class StoredFiles:
    """The newest checkpoint is uploaded while the next rounds train; it counts once the store has it."""

    def __init__(self, store: Store, run: int, token: UUID, attempt: int) -> None:
        self.store, self.run, self.token = store, run, token
        self.folder = attempt_folder(run, token)
        self.checkpoints, self.artifacts = self.folder / "checkpoints", self.folder / "artifacts"
        self.log, self.log_key = self.folder / "log.txt", f"logs/{run}/{attempt:04}.{token.hex}.txt"
        self.uploads = Uploads(f"Run {run}")
        self.saved: deque[Saved] = deque()
        self.stored: list[str] = []
        self.has_artifacts = False
        self.journals: dict[Path, JournalParts] = {}
        self.next_log, self.logged_bytes = time.monotonic() + LOG_SECONDS, 0

    def resumable(self, stored: tuple[str, ...]) -> Resumable:
        """Brought here: the furthest that can be, or an older one of the same attempt."""
        found = Resumable()
        for each in stored:
            key = checkpoint_key(self.run, each)
            for candidate in (key, *self.earlier_keys(key)) if key else ():
                try:
                    found.paths.append(self.bring_checkpoint(candidate))
                    return found
                except (NotStoredError, DamagedCopyError) as error:
                    found.refusals.append(str(error))
            if key is None:
                found.refusals.append(f"The checkpoint {each} is not of this run.")
        return found

    def bring_checkpoint(self, key: str) -> Path:
        """From the store, unless this home wrote it before there was one."""
        own, target = home() / key, self.folder / "resume" / Path(key).name
        if own.exists():
            return own
        target.parent.mkdir(parents=True, exist_ok=True)
        self.store.fetch(key, target)
        return target

    def earlier_keys(self, key: str) -> Iterator[str]:
        """What the same attempt saved before: its rows were written, too. Asked for only where the key is no use."""
        folder, _, name = key.rpartition("/")
        if not (match := NAME.fullmatch(name)):
            return
        names = [each.removesuffix(".json") for each in self.store.sizes(folder) if each.endswith(".json")]
        same = [each for each in names if (other := NAME.fullmatch(each)) and other["token"] == match["token"]]
        older = [each for each in same if round_of(Path(each)) < round_of(Path(name))]
        yield from (f"{folder}/{each}" for each in sorted(older, reverse=True))

    def add_checkpoint(self, number: int, path: Path) -> None:
        """The engine may remove it while it is on its way: its files are linked aside."""
        key = f"runs/{self.run}/checkpoints/{path.name}"
        if path.is_file():
            parts = self.journals.setdefault(path, JournalParts(self.store, key, path))
            self.uploads.add(Upload("checkpoint", lambda: self.keep(Saved(number, key), parts.publish)))
            return
        aside = self.folder / "uploads" / path.name
        try:
            shutil.copytree(path, aside, copy_function=link_or_copy)
        except OSError as error:
            logger.warning("Run %s: the checkpoint of round %s is not uploaded: %s", self.run, number, error)
            return
        self.uploads.add(
            Upload(
                "checkpoint",
                lambda: self.keep(Saved(number, key), lambda: self.store.publish(key, files_below(aside))),
                lambda: shutil.rmtree(aside, ignore_errors=True),
            )
        )

    def keep(self, saved: Saved, publish: Callable[[], object]) -> None:
        publish()
        if saved.key not in self.stored:
            self.stored.append(saved.key)
        self.saved.append(saved)

    def take_saved(self) -> Saved | None:
        saved = None
        while self.saved:
            saved = self.saved.popleft()
        return saved

    def record(self, saved: Saved) -> None:
        """Its row is written: what is older than the one before it can go."""
        self.uploads.add(Upload("old", lambda: self.remove_before(saved.key)))

    def remove_before(self, key: str) -> None:
        while key in self.stored and self.stored.index(key) >= KEPT_CHECKPOINTS:
            self.store.remove(self.stored.pop(0))

    def keep_log(self) -> None:
        if time.monotonic() >= self.next_log:
            self.next_log = time.monotonic() + LOG_SECONDS
            self.add_log()

    def add_log(self) -> None:
        with suppress(OSError):
            if (size := self.log.stat().st_size) != self.logged_bytes:
                self.logged_bytes = size
                self.uploads.add(Upload("log", lambda: self.put_log()))

    def put_log(self) -> None:
        self.store.upload(self.log, self.log_key)

    def drop_checkpoints(self) -> None:
        """A run that is done has its model."""
        self.uploads.drop("checkpoint")

    def add_artifacts(self) -> None:
        if files := files_below(self.artifacts):
            key = file_key(artifact_folder(self.run, self.token))
            self.uploads.add(Upload("artifacts", lambda: self.put_artifacts(key, files)))
        else:
            self.has_artifacts = True

    def put_artifacts(self, key: str, files: dict[str, Path]) -> None:
        self.store.publish(key, files)
        self.has_artifacts = True

    def wait(self, seconds: float) -> bool:
        return self.uploads.wait(seconds)

    @property
    def problem(self) -> str:
        return self.uploads.problem

    def artifact_key(self, path: str) -> str:
        return file_key(artifact_folder(self.run, self.token) / Path(path).relative_to(self.artifacts))

    def close(self, *, done: bool) -> None:
        """Goes on behind the next run; what cannot be cleared up, retention does."""
        self.drop_checkpoints()
        self.add_log()
        if done:
            self.uploads.add(Upload("clear", lambda: self.store.remove(f"runs/{self.run}/checkpoints")))
        self.discard()

    def discard(self) -> None:
        self.uploads.add(Upload("folder", self.remove_folder))
        self.uploads.close()

    def remove_folder(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        for folder in (self.folder.parent, run_folder(self.run)):
            with suppress(OSError):
                folder.rmdir()


class JournalParts:
    """A file that only grows: each upload is what has come since, and the list of all parts."""

    def __init__(self, store: Store, key: str, path: Path) -> None:
        self.store, self.key, self.path = store, key, path
        self.parts: dict[str, StoredFacts] = {}

    def publish(self) -> None:
        name, before = f"part-{len(self.parts):06}", sum(each.bytes for each in self.parts.values())
        facts = self.store.upload(self.path, f"{self.key}/{name}", before)
        if facts.bytes:
            self.parts[name] = facts
        self.store.write_bundle(self.key, Bundle(dict(self.parts), joined=True))


def files_below(folder: Path) -> dict[str, Path]:
    """Whole files only: no links, and nothing that is still being written under a hidden name."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {path.relative_to(folder).as_posix(): path for path in paths if path.name[0] != "."}


def older_checkpoints(path: Path) -> list[Path]:
    """Of the same attempt, beside it, the newest first; a journal has none."""
    if not NAME.fullmatch(path.name):
        return []
    beside = checkpoints_in(path.parent)
    return [each for each in beside if token_of(each) == token_of(path) and round_of(each) < round_of(path)]


def keep_folder(path: Path, kept: Path) -> None:
    """A second name of the same files; whole, or not there."""
    draft = kept.with_name(f"{UNFINISHED}{kept.name}")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        shutil.copytree(path, draft, copy_function=link_or_copy)
        sync_to_disk(draft)
        draft.rename(kept)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    sync_to_disk(kept.parent)


def link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
