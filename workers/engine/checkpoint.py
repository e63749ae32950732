"""Checkpoints: what a run needs to go on exactly, in a folder that appears at once or not at all.

    <folder>/round-00000010.<token>/arrays.safetensors   every array, with its exact dtype
                                    history.jsonl        a line for each round so far; later ones may follow
                                    state.json           the rest, with a SHA-256 of the arrays, of the rounds so far
                                                         and of itself

A reader believes a checkpoint only if all sums hold and it belongs to the same run; otherwise it takes the one before.
All checkpoints of an attempt have links to one history, which only grows: each knows how many of its bytes it counts.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from workers.errors import CheckpointError

FORMAT = 2
READABLE_FORMATS = (1, 2)
"""Before format 2 the rounds so far were written again into each state."""
KEPT_CHECKPOINTS = 2
ARRAYS, HISTORY, STATE = "arrays.safetensors", "history.jsonl", "state.json"
NAME = re.compile(r"round-(?P<round>\d{8})(?:\.(?P<token>[A-Za-z0-9_-]+))?")
TOKEN = re.compile(r"[A-Za-z0-9_-]*")
UNFINISHED = ".unfinished-"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckpointPolicy:
    """Where and how often to save, and which checkpoints to go on from (newest first).

    After each `every` rounds, but not before `seconds` have passed since the last one: rounds may be milliseconds.
    `token` marks the attempt that writes: two attempts in one folder never touch each other's checkpoints.
    `on_saved` is called with round and path once the checkpoint is safe on disk. With `on_unsaved` a run whose
    checkpoint cannot be written goes on without it. Both are called from the thread that writes.
    Where `resume` names checkpoints of which none can be used, the run begins anew, unless `unusable` says what to do
    then: it is the error's text. `on_refused` is told of each that could not be, where an older one can.
    """

    folder: Path
    every: int = 10
    seconds: float = 0.0
    token: str = ""
    resume: Sequence[Path] = ()
    on_saved: Callable[[int, Path], None] | None = None
    on_unsaved: Callable[[int, CheckpointError], None] | None = None
    on_refused: Callable[[CheckpointError], None] | None = None
    unusable: str = ""

    def __post_init__(self) -> None:
        if self.every < 1:
            raise CheckpointError(f"Checkpoints are saved every 1 or more rounds, not every {self.every}.")
        if not TOKEN.fullmatch(self.token):
            raise CheckpointError(f"A checkpoint token has letters, digits, - and _ only, not {self.token!r}.")


class CheckpointClock:
    """Says when the next checkpoint is due; the first counts from the start of the rounds."""

    def __init__(self, policy: CheckpointPolicy) -> None:
        self.policy, self.last = policy, monotonic()

    def is_due(self, number: int) -> bool:
        if number % self.policy.every or monotonic() - self.last < self.policy.seconds:
            return False
        self.last = monotonic()
        return True


@dataclass(frozen=True)
class CheckpointState:
    """A run after `round`. `facts` is JSON: keys are text, tuples come back as lists, NaN and infinity are kept.

    So is each entry of `history`: what it needs to know of each round so far.
    """

    identity: str
    round: int
    engine: str
    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]
    device: str = "cpu"
    """The type of the device that computed it; checkpoints that do not tell are from a CPU."""
    history: Sequence[Any] = ()


class HistoryFile:
    """The rounds of one attempt, each written once: a checkpoint links to the file of the one before and appends."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self.rounds = self.bytes = 0
        self.digest = hashlib.sha256()

    def write(self, folder: Path, history: Sequence[Any]) -> HistoryFile:
        """The file in that folder with all of the history. This one stays as it is, should the folder be given up."""
        longer = HistoryFile()
        longer.path = folder / HISTORY
        if self.link_to(longer.path):
            longer.rounds, longer.bytes, longer.digest = self.rounds, self.bytes, self.digest.copy()
        text = "".join(f"{json.dumps(each, default=to_json_value)}\n" for each in history[longer.rounds :]).encode()
        with longer.path.open("r+b" if longer.bytes else "wb") as file:
            # What follows is of a checkpoint that came to nothing.
            file.truncate(longer.bytes)
            file.seek(longer.bytes)
            file.write(text)
        longer.rounds, longer.bytes = len(history), longer.bytes + len(text)
        longer.digest.update(text)
        return longer

    def link_to(self, path: Path) -> bool:
        """False where there is nothing to link to, or where links are unknown: the history is then written anew."""
        with suppress(OSError):
            if self.path:
                os.link(self.path, path)
                return True
        return False

    def go_on_from(self, other: HistoryFile) -> None:
        self.path, self.rounds, self.bytes, self.digest = other.path, other.rounds, other.bytes, other.digest

    @property
    def facts(self) -> dict[str, Any]:
        return {"rounds": self.rounds, "bytes": self.bytes, "sha256": self.digest.hexdigest()}


class CheckpointWriter:
    """Writes the checkpoints of one attempt beside its rounds, one at a time.

    There is none for the end: a run that is done has left its model, and nobody goes on from there.
    """

    def __init__(self, policy: CheckpointPolicy) -> None:
        self.policy = policy
        self.history = HistoryFile()
        self.pool = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self.task: Future[None] | None = None
        self.saved_round = -1

    def save(self, state: CheckpointState) -> None:
        """Begins to write what the run, which goes on, must not change any more: copies. Waits for the one before."""
        self.wait()
        self.task = self.pool.submit(self.write, state)

    def write(self, state: CheckpointState) -> None:
        try:
            save_checkpoint(self.policy, state, self.history)
            self.saved_round = state.round
        except CheckpointError as error:
            if self.policy.on_unsaved is None:
                raise
            self.policy.on_unsaved(state.round, error)

    def wait(self) -> None:
        """Until nothing is being written. What could not be is raised here, unless the run shall go on without it."""
        if self.task:
            task, self.task = self.task, None
            task.result()

    def close(self) -> None:
        self.pool.shutdown(wait=True)


def policy_of(checkpoint: CheckpointPolicy | Path | str | None) -> CheckpointPolicy | None:
    """A plain path means: save there, and go on from the newest checkpoint that is there."""
    if checkpoint is None or isinstance(checkpoint, CheckpointPolicy):
        return checkpoint
    folder = Path(checkpoint)
    return CheckpointPolicy(folder, resume=tuple(checkpoints_in(folder)))


def checkpoints_in(folder: Path) -> list[Path]:
    """Every checkpoint in the folder, the newest round first; of one round the one written last."""
    if not folder.is_dir():
        return []
    paths = [path for path in folder.iterdir() if NAME.fullmatch(path.name)]
    return sorted(paths, key=lambda path: (round_of(path), modified_at(path)), reverse=True)


def modified_at(path: Path) -> int:
    with suppress(FileNotFoundError):  # another attempt may prune its own at this moment
        return path.stat().st_mtime_ns
    return 0


def save_checkpoint(policy: CheckpointPolicy, state: CheckpointState, history: HistoryFile | None = None) -> Path:
    """Writes aside, syncs, renames; then prunes. A failure leaves every earlier checkpoint as it was.

    Given the `history` of the attempt's checkpoint before, only the rounds that came since are written.
    """
    history = history or HistoryFile()
    target = policy.folder / folder_name(state.round, policy.token)
    aside = policy.folder / f"{UNFINISHED}{target.name}"
    try:
        policy.folder.mkdir(parents=True, exist_ok=True)
        rounds = write_folder(aside, state, history)
        put_in_place(aside, target)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(aside, ignore_errors=True)
        raise CheckpointError(write_failure(state.round, policy.folder, error)) from error
    rounds.path = target / HISTORY
    history.go_on_from(rounds)
    prune_checkpoints(policy, state.round)
    if policy.on_saved:
        policy.on_saved(state.round, target)
    return target


def load_newest_checkpoint(
    policy: CheckpointPolicy, identity: str, *, device: str | None = None
) -> CheckpointState | None:
    """The newest usable candidate of the policy, or None.

    With a type of `device` only what was computed on one: another one rounds otherwise in the middle of a curve.
    """
    refusals: list[CheckpointError] = []
    state = None
    for path in policy.resume:
        try:
            state = load_checkpoint(Path(path), identity, device)
            break
        except CheckpointError as error:
            refusals.append(error)
    if policy.unusable and refusals and state is None:
        raise CheckpointError("\n".join([policy.unusable, *map(str, refusals)]))
    for refusal in refusals:
        log.warning("%s", refusal)
        if policy.on_refused:
            policy.on_refused(refusal)
    return state


def load_checkpoint(path: Path, identity: str, device: str | None = None) -> CheckpointState:
    """That checkpoint, or a `CheckpointError` if it is truncated, damaged, or of another run or type of device."""
    try:
        state = read_verified_state(path / STATE)
        if state["identity"] != identity:
            raise CheckpointError(f"The checkpoint {path.name} belongs to another run; it is not used.")
        origin = state.get("device", "cpu")
        if device not in (None, origin):
            raise CheckpointError(f"The checkpoint {path.name} was computed on {origin}; it is not used on {device}.")
        if file_digest(path / ARRAYS) != state["arrays_sha256"]:
            raise CheckpointError(f"The arrays of the checkpoint {path.name} are truncated or damaged; it is not used.")
        unordered = load_file(path / ARRAYS)
        arrays = {name: unordered[name] for name in state["arrays"]}  # safetensors has an order of its own
        history = state["facts"].pop("history", []) if state["format"] == 1 else read_history(path, state["history"])
    except FileNotFoundError as error:
        raise CheckpointError(f"The checkpoint {path.name} is not whole: {error.filename} is missing.") from None
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        raise CheckpointError(
            f"The checkpoint {path.name} is truncated or damaged; it is not used ({error})."
        ) from error
    return CheckpointState(identity, state["round"], state["engine"], arrays, state["facts"], origin, history)


def read_history(path: Path, facts: Mapping[str, Any]) -> list[Any]:
    """The rounds that belong to the checkpoint; what follows them in the file is another one's, or was never whole."""
    with (path / HISTORY).open("rb") as file:
        text = file.read(facts["bytes"])
    if hashlib.sha256(text).hexdigest() != facts["sha256"]:
        raise CheckpointError(f"The history of the checkpoint {path.name} is truncated or damaged; it is not used.")
    return [json.loads(line) for line in text.splitlines()]


def read_verified_state(path: Path) -> dict[str, Any]:
    document = json.loads(path.read_text(encoding="utf-8"))
    text = document["state"]
    if hashlib.sha256(text.encode()).hexdigest() != document["sha256"]:
        raise ValueError(f"{STATE} does not match its checksum")
    state: dict[str, Any] = json.loads(text)
    if state["format"] not in READABLE_FORMATS:
        known = " and ".join(map(str, READABLE_FORMATS))
        raise ValueError(f"format {state['format']}, but this version reads the formats {known}")
    return state


def write_folder(folder: Path, state: CheckpointState, history: HistoryFile) -> HistoryFile:
    shutil.rmtree(folder, ignore_errors=True)  # what a killed process left
    folder.mkdir()
    # Not ascontiguousarray: it turns a 0-d array into a vector.
    save_file({name: np.asarray(array, order="C") for name, array in state.arrays.items()}, folder / ARRAYS)
    rounds = history.write(folder, state.history)
    sums = {"arrays_sha256": file_digest(folder / ARRAYS), "history": rounds.facts}
    text = json.dumps({**state_header(state), **sums, "facts": state.facts}, default=to_json_value)
    document = {"state": text, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    (folder / STATE).write_text(json.dumps(document), encoding="utf-8")
    for path in (folder / ARRAYS, folder / HISTORY, folder / STATE, folder):
        sync_to_disk(path)
    return rounds


def state_header(state: CheckpointState) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "identity": state.identity,
        "round": state.round,
        "engine": state.engine,
        "device": state.device,
        "arrays": list(state.arrays),
    }


def to_json_value(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"A checkpoint's facts are JSON; {type(value).__name__} is not.")


def put_in_place(aside: Path, target: Path) -> None:
    """A folder cannot be renamed over another one: an older save of the same round steps back first."""
    previous = target.with_name(f"{UNFINISHED}replaced-{target.name}")
    if target.exists():
        shutil.rmtree(previous, ignore_errors=True)
        target.rename(previous)
    aside.rename(target)
    sync_to_disk(target.parent)
    shutil.rmtree(previous, ignore_errors=True)


def prune_checkpoints(policy: CheckpointPolicy, newest: int) -> None:
    """Keeps the newest of this token up to that round; later rounds are another run's or damaged: not ours to judge."""
    own = [path for path in checkpoints_in(policy.folder) if token_of(path) == policy.token]
    for path in [path for path in own if round_of(path) <= newest][KEPT_CHECKPOINTS:]:
        shutil.rmtree(path, ignore_errors=True)
    for path in unfinished_folders(policy):
        shutil.rmtree(path, ignore_errors=True)


def unfinished_folders(policy: CheckpointPolicy) -> Iterator[Path]:
    for path in policy.folder.glob(f"{UNFINISHED}*"):
        name = path.name.removeprefix(UNFINISHED).removeprefix("replaced-")
        if NAME.fullmatch(name) and token_of(Path(name)) == policy.token:
            yield path


def folder_name(number: int, token: str) -> str:
    return f"round-{number:08d}.{token}" if token else f"round-{number:08d}"


def round_of(path: Path) -> int:
    return int(name_parts(path)["round"])


def token_of(path: Path) -> str:
    return name_parts(path)["token"] or ""


def name_parts(path: Path) -> Mapping[str, str | Any]:
    match = NAME.fullmatch(path.name)
    if match is None:
        raise CheckpointError(f"{path.name} is not the name of a checkpoint.")
    return match.groupdict()


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_failure(number: int, folder: Path, error: Exception) -> str:
    return (
        f"The checkpoint of round {number} could not be written ({error}). "
        f"Free some space in {folder.name} and retry; earlier checkpoints are intact."
    )
