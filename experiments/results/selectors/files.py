"""What a run left on disk that people may take away, and its log from any byte on."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from experiments.labels.specs import spec_yaml
from experiments.models import Run
from workers.home import artifact_folder, home, log_file, run_folder
from workers.spec import is_app

MODEL, SPEC, LOG = "model.safetensors", "spec.yaml", "log.txt"
WRITTEN, MOST_WRITTEN = "files", 200
APP_FILE = "Written by the app"


@dataclass(frozen=True)
class RunFile:
    name: str
    what: str
    bytes: int


def run_files(run: Run) -> list[RunFile]:
    descriptions = {MODEL: "The final model's parameters", LOG: "Everything that the run said"}
    existing = [(name, path) for name, path in paths_of(run).items() if path.is_file()]
    again = "" if is_app(run.spec) else ": run it again with python -m workers.engine"
    spec = RunFile(SPEC, f"The spec{again}", len(spec_yaml(run.spec).encode()))
    return [spec, *(RunFile(name, descriptions.get(name, APP_FILE), path.stat().st_size) for name, path in existing)]


def paths_of(run: Run) -> dict[str, Path]:
    model = artifact_path(run)
    own = written_files(run) if is_app(run.spec) else {}
    return {**({MODEL: model} if model else {}), **own, LOG: log_file(run.pk)}


def written_files(run: Run) -> dict[str, Path]:
    """What an app wrote into its working folder in the last attempt, by path; links are nobody's file."""
    token = run.attempts.order_by("-number").values_list("token", flat=True).first()
    folder = artifact_folder(run.pk, token) / WRITTEN if token else None
    if folder is None or not folder.is_dir():
        return {}
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    inside = (path for path in found if path.resolve().is_relative_to(folder.resolve()))
    return {f"{WRITTEN}/{path.relative_to(folder)}": path for path in islice(inside, MOST_WRITTEN)}


def artifact_path(run: Run) -> Path | None:
    """Where the stored path says, but only inside the run's own folder."""
    if not run.artifact:
        return None
    path = (home() / run.artifact).resolve()
    return path if path.is_relative_to(run_folder(run.pk).resolve()) else None


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
    try:
        with log_file(run).open("rb") as file:
            size = file.seek(0, 2)
            tail = after is None or after > size
            start = max(0, size - limit) if after is None or after > size else after
            file.seek(start)
            raw = file.read(limit)
    except OSError:
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
