"""Runs in Parquet files, a row for each: what it is, what it was computed with, and its curves. No database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from workers.errors import TributaryError

Curves = Mapping[str, Mapping[int, float]]
"""By metric the value of each round."""
DROPPED_PREFIXES = ("recall.", "seconds")
DROPPED_METRICS = ("f1",)
CURVE = pa.struct([("metric", pa.string()), ("rounds", pa.list_(pa.int32())), ("values", pa.list_(pa.float64()))])
SCHEMA = pa.schema(
    [
        ("hash", pa.string()),
        ("cell", pa.string()),
        ("seed", pa.int64()),
        ("engine_version", pa.int32()),
        ("engine", pa.string()),
        ("device_type", pa.string()),
        ("finished", pa.string()),
        ("spec", pa.string()),
        ("provenance", pa.string()),
        ("findings", pa.string()),
        ("curves", pa.list_(CURVE)),
    ]
)


class StoredRunsError(TributaryError):
    """A file of stored runs that cannot be used."""


@dataclass(frozen=True)
class StoredRun:
    """A done run. `hash` and `cell` are those it was launched with; `finished` is a date and time as ISO has them."""

    hash: str
    cell: str
    seed: int
    engine_version: int
    engine: str
    device_type: str
    finished: str
    spec: Mapping[str, Any]
    provenance: Mapping[str, Any]
    findings: Mapping[str, Any]
    curves: Curves

    @property
    def key(self) -> tuple[str, str]:
        """Two runs with the same one are the same, to the last bit on the same type of processor."""
        return self.hash, self.device_type


@dataclass(frozen=True)
class Merged:
    """All runs, each once; `added` were not there before, `conflicts` were, with other curves: the old ones stay."""

    runs: tuple[StoredRun, ...]
    added: int
    conflicts: tuple[str, ...]


def is_stored(metric: str) -> bool:
    """Not what takes much room and no report reads, nor how long a machine took."""
    return metric not in DROPPED_METRICS and not metric.startswith(DROPPED_PREFIXES)


def merge_runs(stored: Iterable[StoredRun], new: Iterable[StoredRun]) -> Merged:
    runs = {run.key: run for run in stored}
    added, conflicts = 0, []
    for run in new:
        if run.key not in runs:
            runs[run.key] = run
            added += 1
        elif repr(as_row(runs[run.key])["curves"]) != repr(as_row(run)["curves"]):  # where nan equals nan
            conflicts.append(run.hash)
    return Merged(tuple(runs.values()), added, tuple(conflicts))


def write_runs(path: Path, runs: Sequence[StoredRun]) -> None:
    """In the order of cells and seeds, so that equal runs make equal files."""
    rows = [as_row(run) for run in sorted(runs, key=lambda run: (run.cell, run.seed, run.key))]
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows, SCHEMA), part, compression="zstd", compression_level=9)
    part.replace(path)


def as_row(run: StoredRun) -> dict[str, Any]:
    curves = [
        {"metric": name, "rounds": list(curve), "values": list(curve.values())}
        for name, curve in sorted(run.curves.items())
    ]
    texts = {name: json.dumps(getattr(run, name), sort_keys=True) for name in ("spec", "provenance", "findings")}
    plain = ("hash", "cell", "seed", "engine_version", "engine", "device_type", "finished")
    return {**{name: getattr(run, name) for name in plain}, **texts, "curves": curves}


def read_runs(path: Path) -> list[StoredRun]:
    try:
        table = pyarrow.parquet.read_table(path, schema=SCHEMA)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StoredRunsError(f"{path.name} holds no stored runs ({error}): collect them again.") from None
    return [from_row(row) for row in table.to_pylist()]


def from_row(row: Mapping[str, Any]) -> StoredRun:
    curves = {each["metric"]: dict(zip(each["rounds"], each["values"], strict=True)) for each in row["curves"]}
    texts = {name: json.loads(row[name]) for name in ("spec", "provenance", "findings")}
    return StoredRun(**{**row, **texts, "curves": curves})


def read_folder(folder: Path) -> dict[str, list[StoredRun]]:
    """By preset. Several files of one, as `NAME.parquet` and `NAME.other-machine.parquet`, are merged."""
    runs: dict[str, list[StoredRun]] = {}
    for path in sorted(folder.glob("*.parquet")):
        preset = path.name.split(".")[0]
        runs[preset] = list(merge_runs(runs.get(preset, ()), read_runs(path)).runs)
    return runs
