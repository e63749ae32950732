"""TRIBUTARY_HOME: the one folder that holds data, logs and secrets; nobody but its owner may look inside."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from workers.errors import TributaryError


class HomeError(TributaryError):
    """A home that cannot be made or written."""


@dataclass(frozen=True)
class Home:
    path: Path

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def state(self) -> Path:
        return self.path / "services.json"

    @property
    def lock(self) -> Path:
        return self.path / "up.lock"

    def make(self) -> Home:
        try:
            for folder in (self.path, self.logs, self.path / "secrets"):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                close_place(folder)
            probe = self.path / f".writable-{os.getpid()}"
            probe.touch()
            probe.unlink()
        except OSError as error:
            raise HomeError(
                f"TRIBUTARY_HOME ({self.path}) cannot be written: {error.strerror}."
                " Make it writable or set TRIBUTARY_HOME to another folder."
            ) from None
        return self

    def close_to_others(self) -> int:
        """Takes from other accounts what rights they have to anything in here; how many places that were."""
        inside = (Path(folder, name) for folder, *names in os.walk(self.path) for name in chain(*names))
        return sum(map(close_place, chain([self.path], inside)))

    def secret(self, name: str, size: int = 32) -> str:
        """A random text made once, whoever asks first, and kept for its owner's eyes only."""
        path = self.path / "secrets" / name
        if not path.exists():
            self.make()
            draft = write_draft(path, secrets.token_hex(size))
            with contextlib.suppress(FileExistsError):
                os.link(draft, path)
            draft.unlink()
        return path.read_text().strip()


def keep_files_private() -> None:
    """Whatever this process writes from now on, uploads included, is its account's alone."""
    os.umask(0o077)


def close_place(path: Path) -> bool:
    """Links lead elsewhere, and what belongs to somebody else is theirs to decide about."""
    try:
        facts = path.lstat()
        if stat.S_ISLNK(facts.st_mode) or facts.st_uid != os.geteuid() or not facts.st_mode & 0o077:
            return False
        path.chmod(stat.S_IMODE(facts.st_mode) & 0o700)
    except FileNotFoundError:
        return False
    return True


def write_private(path: Path, text: str) -> None:
    """Written whole or not at all, and never readable by others, not even for a moment."""
    write_draft(path, text).replace(path)


def write_draft(path: Path, text: str) -> Path:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft
