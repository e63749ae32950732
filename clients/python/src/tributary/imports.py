"""Results of elsewhere become logged runs of the lab: shown first, sent once however often, and taken back."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tributary.connection import Connection, LabError
from tributary.import_sources import (
    SourceRun,
    read_flower,
    read_mapping,
    read_mlflow,
    read_tables,
    read_tensorboard,
    read_wandb,
)
from tributary.logged import flat_config, number_text

KINDS = ("csv", "parquet", "tensorboard", "mlflow", "flower", "wandb")
RUNS_AT_ONCE, BYTES_AT_ONCE, MOST_BYTES = 200, 500_000, 2_400_000
LARGEST = 2**31 - 1
Message = dict[str, Any]


def read_source(kind: str, source: str, mapping: str | None = None) -> list[SourceRun]:
    if kind == "mlflow":
        return read_mlflow(source)
    path = Path(source)
    if not path.exists():
        raise LabError(0, f"{source} does not exist.")
    if kind in ("csv", "parquet"):
        return read_tables(path, read_mapping(Path(mapping)) if mapping else None)
    return {"tensorboard": read_tensorboard, "flower": read_flower, "wandb": read_wandb}[kind](path)


def prepare(runs: Iterable[SourceRun], source: str, study: str | None = None, every: int = 1) -> list[Message]:
    """Each as `POST /imports` takes it, with every so-maniest round and the last."""
    return [run_message(run, study or run.study or Path(source).stem, every) for run in runs]


def run_message(run: SourceRun, study: str, every: int) -> Message:
    if wrong := [number for number in run.rounds if not 0 <= number <= LARGEST]:
        raise LabError(0, f"Run {run.name}: {wrong[0]} is no number of a round.")
    last = max(run.rounds, default=0)
    rounds = [
        {"round": number, "metrics": {name: json.loads(number_text(value)) for name, value in metrics.items()}}
        for number, metrics in sorted(run.rounds.items())
        if number % every == 0 or number == last
    ]
    config = flat_config(run.config)
    message = {"study": study, "name": run.name, "config": config, "rounds": rounds, "failed": run.failed}
    if size_of(message) > MOST_BYTES:
        raise LabError(
            0, f"Run {run.name} has {len(rounds):,} rounds, more than the lab takes: thin it with --every 10."
        )
    return message


def size_of(message: Message) -> int:
    return len(json.dumps(message))


def batches(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """As many as the lab takes at once; a run is never cut in two."""
    batch: list[Message] = []
    size = 0
    for each in messages:
        own = size_of(each)
        if batch and (len(batch) == RUNS_AT_ONCE or size + own > BYTES_AT_ONCE):
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += own
    if batch:
        yield batch


def plan_rows(lab: Connection, messages: Sequence[Message], kind: str, source: str) -> list[tuple[Any, ...]]:
    """What would come, a row for each run, as the lab says it."""
    rows: list[tuple[Any, ...]] = [("study", "run", "rounds", "metrics", "seed", "config", "")]
    for batch in batches(messages):
        answer = lab.post("/imports", {"kind": kind, "source": source[:1000], "runs": batch}, dry_run=True)
        for message, told in zip(batch, answer["runs"], strict=True):
            metrics = sorted({name for each in message["rounds"] for name in each["metrics"]})
            config = ", ".join(f"{key}={value}" for key, value in message["config"].items() if key != "seed")
            facts = (message["study"], message["name"], len(message["rounds"]), ", ".join(metrics))
            rows.append((*facts, told["seed"], config[:60], told["outcome"]))
    return rows


def send_all(lab: Connection, messages: Sequence[Message], kind: str, source: str) -> dict[str, int]:
    """How many were new, and how many the lab had. Cut off, it goes on when it is called again."""
    counts = {"new": 0, "known": 0}
    sent = 0
    for batch in batches(messages):
        answer = lab.post("/imports", {"kind": kind, "source": source[:1000], "runs": batch})
        for name in counts:
            counts[name] += answer[name]
        sent += len(batch)
        sys.stderr.write(f"\r{sent}/{len(messages)} runs" + ("\n" if sent == len(messages) else ""))
        sys.stderr.flush()
    return counts


def undo(lab: Connection, study: str, wait: float = 600.0) -> int:
    """Takes back a study, by name or number, in which every run was imported. Its number, once it is gone."""
    found = [each for each in lab.pages("/studies", origin="logged") if study in (str(each["id"]), each["name"])]
    if len(found) != 1:
        numbers = ", ".join(str(each["id"]) for each in found)
        raise LabError(
            0, f"Several studies have this name: give a number of {numbers}." if found else f"No import: {study}."
        )
    number = int(found[0]["id"])
    lab.request("DELETE", f"/imports/{number}")
    until = time.monotonic() + wait
    while time.monotonic() < until:
        try:
            lab.get(f"/studies/{number}")
        except LabError as error:
            if error.status == 404:
                return number
            raise
        time.sleep(0.3)
    raise LabError(0, f"Study {number} is still being deleted: look again later.")
