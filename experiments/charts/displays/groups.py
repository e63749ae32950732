"""Groups of clients that a strategy found, and how well they match what the clients hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.charts.displays.table import DisplayTable, Field
from experiments.charts.findings import text

COLUMNS = ("Groups", "Clients in each", "Purity", "Kinds of clients", "Near no other", "Radius")

MEMBERS = "Who is in each group"


@dataclass(frozen=True)
class Grouping:
    """One run's finding."""

    label: str
    seed: int
    found: Mapping[str, Any]


def groups_in(findings: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Whatever strategy found them."""
    told = [each for each in findings.values() if isinstance(each, Mapping) and "groups" in each]
    return told[0] if told else None


def groups_table(groupings: Sequence[Grouping]) -> DisplayTable:
    rows = tuple(((each.label, str(each.seed)), fields(each.found)) for each in groupings)
    caption = "Purity: share of clients in a group whose commonest set of classes is theirs"
    return DisplayTable("Groups found", ("cell", "seed"), COLUMNS, rows, caption)


def fields(found: Mapping[str, Any]) -> tuple[Field, ...]:
    sizes = [len(group["members"]) for group in found["groups"]]
    told = [len(sizes), sizes, found.get("purity"), found.get("class_sets"), len(found.get("noise") or ())]
    return (*(Field(text(each)) for each in told), Field(text(found.get("eps"))))


def spans(numbers: Sequence[int]) -> str:
    """Neighbours together, as from 0 to 19."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in found)


def members_table(groupings: Sequence[Grouping]) -> DisplayTable:
    rows = tuple(
        ((each.label, str(each.seed), str(place)), (Field(spans(group["members"])), Field(text(group["classes"]))))
        for each in groupings
        for place, group in enumerate(each.found["groups"], start=1)
    )
    return DisplayTable(MEMBERS, ("cell", "seed", "group"), ("Clients", "Classes"), rows, detail=True)
