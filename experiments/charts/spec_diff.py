"""What two specs have in common, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from experiments.charts.labels import shown
from workers.spec import flatten

MISSING = object()


@dataclass(frozen=True)
class SpecDiff:
    """`different` has path and both values, a dash for a field that one of them lacks; `same` counts the rest."""

    different: tuple[tuple[str, str, str], ...]
    same: int


def spec_diff(first: Mapping[str, Any], second: Mapping[str, Any]) -> SpecDiff:
    one, two = flatten(first), flatten(second)
    paths = list(dict.fromkeys([*one, *two]))
    different = [path for path in paths if one.get(path, MISSING) != two.get(path, MISSING)]
    return SpecDiff(
        tuple((path, worded(one.get(path, MISSING)), worded(two.get(path, MISSING))) for path in different),
        len(paths) - len(different),
    )


def worded(value: Any) -> str:
    return "–" if value is MISSING else shown(value)
