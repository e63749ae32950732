"""Studies of the lab: launched, followed, read as tables."""

from __future__ import annotations

import html
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tributary.connection import Connection, LabError, connect
from tributary.definitions import Definition, read_definition

ACTIVE = ("queued", "running")
NO_PANDAS = "This needs pandas: pip install 'tributary-client[pandas]', or read the rows with study.rows()."


def launch(definition: Definition, *, lab: Connection | None = None, dry_run: bool = False, **changes: Any) -> Any:
    """Launches a grid: a mapping, the path of a YAML file, either with fields changed by keywords.

    `lab.launch("grid.yaml", strategy=["fedavg", "fedprox"], seeds=5)`; keys with dots go in as
    `**{"strategy.mu": 0.1}`. With `dry_run` nothing is launched: the answer says how many runs it would be and how
    long they would take.
    """
    lab = lab or connect()
    study = read_definition(lab, definition, changes)
    if dry_run:
        return lab.post("/studies", study, dry_run=True)
    return Study(lab, lab.post("/studies", study))


def study(number: int, *, lab: Connection | None = None) -> Study:
    lab = lab or connect()
    return Study(lab, lab.get(f"/studies/{number}"))


def studies(search: str | None = None, *, lab: Connection | None = None, **filters: Any) -> Iterator[Study]:
    """The newest first. Filters are those of `GET /studies`: owner, tag, origin, archived."""
    lab = lab or connect()
    return (Study(lab, each) for each in lab.pages("/studies", search=search, **filters))


class Study:
    """One study. `facts` is what the lab said of it last; `refresh` asks again."""

    def __init__(self, lab: Connection, facts: dict[str, Any]) -> None:
        self.lab, self.facts = lab, facts

    @property
    def id(self) -> int:
        return int(self.facts["id"])

    @property
    def name(self) -> str:
        return str(self.facts["name"])

    @property
    def address(self) -> str:
        return f"{self.lab.login.address}/studies/{self.id}"

    @property
    def counts(self) -> dict[str, int]:
        """Runs by state."""
        return dict(self.facts["counts"])

    @property
    def is_active(self) -> bool:
        return any(self.counts.get(state, 0) for state in ACTIVE)

    def refresh(self) -> Study:
        self.facts = self.lab.get(f"/studies/{self.id}")
        return self

    def wait(self, *, every: float = 2.0, timeout: float | None = None, quiet: bool = False) -> Study:
        """Until no run waits or is at work. A study with failed runs raises nothing: look at `counts`."""
        began = time.monotonic()
        while self.refresh().is_active:
            if timeout is not None and time.monotonic() - began > timeout:
                raise TimeoutError(f"Study {self.id} is still at work: {progress_text(self.counts)}")
            if not quiet:
                show_progress(self)
            time.sleep(every)
        if not quiet:
            show_progress(self, last=True)
        return self

    def cancel(self) -> Study:
        self.lab.post(f"/studies/{self.id}/cancel")
        return self.refresh()

    def retry(self) -> Study:
        self.lab.post(f"/studies/{self.id}/retry")
        return self.refresh()

    def runs(self, **filters: Any) -> list[dict[str, Any]]:
        return list(self.lab.pages("/runs", study=self.id, **filters))

    def rows(self, metric: str | Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Tidy rows: run, cell, seed, round, metric, value and a column for each field that varies."""
        names = [metric] if isinstance(metric, str) else list(metric or ()) or None
        answer = self.lab.send("GET", "/metrics", query={"study": self.id, "format": "ndjson", "metric": names})
        rows = [json.loads(line) for line in answer.text.splitlines()]
        return [{**row, "value": float(row["value"])} for row in rows]

    def metrics(self, metric: str | Sequence[str] | None = None) -> Any:
        """The same as a pandas DataFrame, every number exact."""
        return require_pandas().DataFrame(self.rows(metric))

    def export(self, path: str | Path, format: str | None = None) -> Path:  # noqa: A002
        """Every number as csv, json, ndjson or parquet, by the path's ending. The file appears when it is whole."""
        target = Path(path)
        kind = format or target.suffix.lstrip(".") or "csv"
        part = target.with_name(f"{target.name}.part")
        with (
            self.lab.http.stream("GET", "/metrics", params={"study": self.id, "format": kind}) as answer,
            part.open("wb") as file,
        ):
            if not answer.is_success:
                answer.read()
                raise LabError(answer.status_code, answer.text)
            for chunk in answer.iter_bytes():
                file.write(chunk)
        part.replace(target)
        return target

    def summary(self, by: str | Sequence[str] = "", metric: str = "accuracy", rounds: Sequence[int] = ()) -> Any:
        """Mean, spread and number of seeds for each group: a DataFrame where pandas is there, otherwise its rows."""
        fields = by if isinstance(by, str) else ",".join(by)
        asked = ",".join(map(str, rounds)) or None
        answer = self.lab.get(f"/studies/{self.id}/summary", by=fields or None, metric=metric, rounds=asked)
        rows = [{**row.pop("group"), **row} for row in answer["rows"]]
        try:
            return require_pandas().DataFrame(rows)
        except LabError:
            return rows

    def __repr__(self) -> str:
        return f"<Study {self.id} {self.name!r}: {progress_text(self.counts)}>"

    def _repr_html_(self) -> str:
        """For notebooks: what it is, how far it is, and its results with their curve."""
        title = f'<a href="{html.escape(self.address)}">{html.escape(self.name)}</a>'
        head = f"<p><strong>{title}</strong> · {html.escape(progress_text(self.counts))}</p>"
        try:
            table = self.summary()
        except LabError as error:
            return f"{head}<p>{html.escape(error.detail)}</p>"
        rows = table if isinstance(table, list) else table.to_dict("records")
        return head + rows_html(rows) + curves_svg(self.rows("accuracy"))


def progress_text(counts: dict[str, int]) -> str:
    return ", ".join(f"{number} {state}" for state, number in counts.items() if number) or "no runs"


def show_progress(one: Study, last: bool = False) -> None:
    counts = one.counts
    total, ended = sum(counts.values()), sum(counts.get(each, 0) for each in ("done", "failed", "cancelled"))
    filled = 30 * ended // max(1, total)
    line = f"\r{one.name[:40]} [{'#' * filled}{'.' * (30 - filled)}] {ended}/{total} {progress_text(counts)}   "
    sys.stderr.write(line + ("\n" if last else ""))
    sys.stderr.flush()


def rows_html(rows: Sequence[dict[str, Any]]) -> str:
    if not rows:
        return "<p>Nothing is measured yet.</p>"
    heads = "".join(f"<th>{html.escape(str(name))}</th>" for name in rows[0])
    lines = ["".join(f"<td>{html.escape(cell_text(value))}</td>" for value in row.values()) for row in rows[:50]]
    more = f"<p>{len(rows) - 50} more rows</p>" if len(rows) > 50 else ""
    return f"<table><tr>{heads}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>{more}"


def cell_text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def curves_svg(rows: Sequence[dict[str, Any]], width: int = 560, height: int = 220) -> str:
    """A line for each cell, the mean over its seeds."""
    cells: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        if isinstance(row["value"], int | float):
            cells.setdefault(str(row["cell"]), {}).setdefault(int(row["round"]), []).append(float(row["value"]))
    means = {cell: {at: sum(own) / len(own) for at, own in sorted(curve.items())} for cell, curve in cells.items()}
    values = [value for curve in means.values() for value in curve.values()]
    last = max((at for curve in means.values() for at in curve), default=0)
    if not values or not last:
        return ""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    colours = ("#0b6e8f", "#c2410c", "#6d4fb3", "#1d7a46", "#b3266b", "#7a5b00", "#3f6ad8", "#5b6670")
    lines = "".join(
        f'<polyline fill="none" stroke="{colours[place % len(colours)]}" stroke-width="2" points="'
        + " ".join(
            f"{40 + (width - 50) * at / last:.1f},{10 + (height - 40) * (1 - (value - low) / span):.1f}"
            for at, value in curve.items()
        )
        + '"/>'
        for place, curve in enumerate(means.values())
    )
    words = (
        f'<text x="2" y="16" font-size="11">{high:.3g}</text>'
        f'<text x="2" y="{height - 30}" font-size="11">{low:.3g}</text>'
        f'<text x="{width - 60}" y="{height - 8}" font-size="11">round {last}</text>'
    )
    return f'<svg width="{width}" height="{height}" role="img" aria-label="Accuracy by round">{lines}{words}</svg>'


def require_pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise LabError(0, NO_PANDAS) from None
    return pandas
