from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path

from workers.plugins.guard import HeavyImportError


@dataclass(frozen=True, order=True)
class PluginProblem:
    """Why something is not in the catalog; `place` is its file, folder or entry point, `message` says what to do."""

    place: str
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class PluginFaultError(Exception):
    """A component that cannot be taken as it is declared; the text says what to change."""


def told(error: BaseException) -> str:
    """One line: what was raised, and in which line of which file."""
    if isinstance(error, PluginFaultError):
        return str(error)
    if isinstance(error, SyntaxError):
        return f"It is no valid Python: {error.msg}, line {error.lineno} of {Path(error.filename or '').name}."
    if isinstance(error, HeavyImportError):
        return (
            f"It imports {error.name} at module level{place_of(error)}, which the web server must not load: "
            "import it inside build(), or in a private file that build() imports."
        )
    words = f"{type(error).__name__}: {error}".rstrip(": ").splitlines()[0].rstrip(".")
    return f"{words}{place_of(error)}."


def place_of(error: BaseException) -> str:
    """Of the last line of the plugin's own: Python's import machinery and this package lie around it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_foreign(frame.filename)]
    return f", line {frames[-1].lineno} of {Path(frames[-1].filename).name}" if frames else ""


def is_foreign(filename: str) -> bool:
    ours = Path(__file__).resolve().parents[1]
    return not filename.startswith("<") and not Path(filename).is_relative_to(ours) and "/importlib/" not in filename
