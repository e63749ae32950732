"""What a run tells beyond its curves: what its strategy found out, and where its numbers came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.labels.specs import Fact

CONFUSION = "confusion"
MOST_ROWS, MOST_COLUMNS, MOST_LISTED = 50, 16, 40


@dataclass(frozen=True)
class FindingsTable:
    """`left_out` says how many rows or columns are not shown."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left_out: str = ""


@dataclass(frozen=True)
class StrategyFindings:
    """Of one strategy."""

    title: str
    facts: tuple[Fact, ...]
    tables: tuple[FindingsTable, ...]


def findings_info(findings: Mapping[str, Any]) -> list[StrategyFindings]:
    """The confusion matrix has a chart of its own."""
    return [
        strategy_findings(name, value if isinstance(value, Mapping) else {name: value})
        for name, value in findings.items()
        if name != CONFUSION and value not in (None, {}, [])
    ]


def strategy_findings(title: str, values: Mapping[str, Any]) -> StrategyFindings:
    tables = {name: findings_table(name, value) for name, value in values.items()}
    facts = tuple(
        Fact(finding_title(name), finding_text(value)) for name, value in values.items() if tables[name] is None
    )
    return StrategyFindings(title, facts, tuple(each for each in tables.values() if each))


def findings_table(name: str, value: Any) -> FindingsTable | None:
    """None for what is said in one line."""
    if isinstance(value, Mapping) and value and all(isinstance(each, Mapping) for each in value.values()):
        return records_table(name, list(value.values()), list(value))
    if isinstance(value, Mapping) and value:
        return truncated_table(name, ("", "Value"), [(str(key), finding_text(each)) for key, each in value.items()])
    if is_list(value) and value and all(isinstance(each, Mapping) for each in value):
        return records_table(name, value, list(range(len(value))))
    if is_list(value) and value and all(is_list(each) for each in value):
        return lists_table(name, value)
    return None


def records_table(name: str, records: Sequence[Mapping[str, Any]], keys: Sequence[Any]) -> FindingsTable:
    columns = list(dict.fromkeys(column for record in records for column in record))
    rows = [
        (str(key), *(finding_text(record.get(column)) for column in columns))
        for key, record in zip(keys, records, strict=True)
    ]
    return truncated_table(name, ("", *map(finding_title, columns)), rows)


def lists_table(name: str, lists: Sequence[Sequence[Any]]) -> FindingsTable:
    """A matrix keeps its columns; lists of different lengths, such as groups of clients, are listed."""
    if len({len(each) for each in lists}) == 1 and len(lists) > 1 and len(lists[0]) > 1:
        columns = ("", *map(str, range(len(lists[0]))))
        return truncated_table(
            name, columns, [(str(place), *map(finding_text, each)) for place, each in enumerate(lists)]
        )
    return truncated_table(
        name, ("", "Members"), [(str(place), finding_text(each)) for place, each in enumerate(lists)]
    )


def truncated_table(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> FindingsTable:
    visible_rows = tuple(tuple(row[:MOST_COLUMNS]) for row in rows[:MOST_ROWS])
    parts = [
        f"{len(rows) - MOST_ROWS:,} more rows" if len(rows) > MOST_ROWS else "",
        f"{len(columns) - MOST_COLUMNS:,} more columns" if len(columns) > MOST_COLUMNS else "",
    ]
    return FindingsTable(
        finding_title(name), tuple(columns[:MOST_COLUMNS]), visible_rows, " and ".join(filter(None, parts))
    )


def is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def finding_title(name: str) -> str:
    return str(name).replace("_", " ").replace(".", " ").capitalize()


def finding_text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {finding_text(each)}" for key, each in value.items())
    if is_list(value):
        listed = ", ".join(finding_text(each) for each in value[:MOST_LISTED])
        return f"{listed} and {len(value) - MOST_LISTED:,} more" if len(value) > MOST_LISTED else listed or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


LAUNCHED_WITH = "launched_with"
SHOWN_ELSEWHERE = ("engine", "packages", "device", "device_name", "cpu", "seconds", LAUNCHED_WITH)


def provenance_facts(provenance: Mapping[str, Any]) -> list[Fact]:
    """What every run has first, then whatever else was written down."""
    if not provenance.keys() - {LAUNCHED_WITH}:
        return []
    device, name = provenance.get("device", ""), provenance.get("device_name", "")
    seconds = provenance.get("seconds")
    device_facts = [
        Fact("Device", f"{device}: {name}" if name else str(device)),
        Fact("Computing time", f"{seconds:,.1f} s" if isinstance(seconds, int | float) else "–"),
    ]
    rest = [
        Fact(finding_title(key), finding_text(value)) for key, value in provenance.items() if key not in SHOWN_ELSEWHERE
    ]
    packages = provenance.get("packages") or {}
    versions = [Fact("Versions", ", ".join(f"{name} {version}" for name, version in packages.items()))]
    return [*device_facts, *rest, *(versions if packages else [])]
