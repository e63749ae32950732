"""What a run tells beyond its curves: what its strategy found out, and where its numbers came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.labels.specs import Fact

CONFUSION = "confusion"
MOST_ROWS, MOST_COLUMNS, MOST_LISTED = 50, 16, 40


@dataclass(frozen=True)
class Table:
    """`left_out` says how many rows or columns are not shown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: str = ""


@dataclass(frozen=True)
class Findings:
    """Of one strategy."""

    title: str
    facts: tuple[Fact, ...]
    tables: tuple[Table, ...]


def findings_info(findings: Mapping[str, Any]) -> list[Findings]:
    """The confusion matrix has a chart of its own."""
    return [
        section(name, told if isinstance(told, Mapping) else {name: told})
        for name, told in findings.items()
        if name != CONFUSION and told not in (None, {}, [])
    ]


def section(title: str, told: Mapping[str, Any]) -> Findings:
    made = {name: table(name, value) for name, value in told.items()}
    facts = tuple(Fact(words(name), text(value)) for name, value in told.items() if made[name] is None)
    return Findings(title, facts, tuple(each for each in made.values() if each))


def table(name: str, value: Any) -> Table | None:
    """None for what is said in one line."""
    if isinstance(value, Mapping) and value and all(isinstance(each, Mapping) for each in value.values()):
        return of_records(name, list(value.values()), list(value))
    if isinstance(value, Mapping) and value:
        return cut(name, ("", "Value"), [(str(key), text(each)) for key, each in value.items()])
    if is_list(value) and value and all(isinstance(each, Mapping) for each in value):
        return of_records(name, value, list(range(len(value))))
    if is_list(value) and value and all(is_list(each) for each in value):
        return of_lists(name, value)
    return None


def of_records(name: str, records: Sequence[Mapping[str, Any]], keys: Sequence[Any]) -> Table:
    columns = list(dict.fromkeys(column for record in records for column in record))
    rows = [
        (str(key), *(text(record.get(column)) for column in columns)) for key, record in zip(keys, records, strict=True)
    ]
    return cut(name, ("", *map(words, columns)), rows)


def of_lists(name: str, lists: Sequence[Sequence[Any]]) -> Table:
    """A matrix keeps its columns; lists of different lengths, such as groups of clients, are listed."""
    if len({len(each) for each in lists}) == 1 and len(lists) > 1 and len(lists[0]) > 1:
        columns = ("", *map(str, range(len(lists[0]))))
        return cut(name, columns, [(str(place), *map(text, each)) for place, each in enumerate(lists)])
    return cut(name, ("", "Members"), [(str(place), text(each)) for place, each in enumerate(lists)])


def cut(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    shown = tuple(tuple(row[:MOST_COLUMNS]) for row in rows[:MOST_ROWS])
    parts = [
        f"{len(rows) - MOST_ROWS:,} more rows" if len(rows) > MOST_ROWS else "",
        f"{len(columns) - MOST_COLUMNS:,} more columns" if len(columns) > MOST_COLUMNS else "",
    ]
    return Table(words(name), tuple(columns[:MOST_COLUMNS]), shown, " and ".join(filter(None, parts)))


def is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def words(name: str) -> str:
    return str(name).replace("_", " ").replace(".", " ").capitalize()


def text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {text(each)}" for key, each in value.items())
    if is_list(value):
        listed = ", ".join(text(each) for each in value[:MOST_LISTED])
        return f"{listed} and {len(value) - MOST_LISTED:,} more" if len(value) > MOST_LISTED else listed or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


TOLD_ELSEWHERE = ("engine", "packages", "device", "device_name", "cpu", "seconds")


def provenance_facts(provenance: Mapping[str, Any]) -> list[Fact]:
    """What every run has first, then whatever else was written down."""
    if not provenance:
        return []
    device, name = provenance.get("device", ""), provenance.get("device_name", "")
    seconds = provenance.get("seconds")
    known = [
        Fact("Device", f"{device}: {name}" if name else str(device)),
        Fact("Computing time", f"{seconds:,.1f} s" if isinstance(seconds, int | float) else "–"),
    ]
    rest = [Fact(words(key), text(value)) for key, value in provenance.items() if key not in TOLD_ELSEWHERE]
    packages = provenance.get("packages") or {}
    versions = [Fact("Versions", ", ".join(f"{name} {version}" for name, version in packages.items()))]
    return [*known, *rest, *(versions if packages else [])]
