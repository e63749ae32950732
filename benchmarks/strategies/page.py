"""docs/strategies.md: the table of results and the catalog's strategies, as pure functions to Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from scipy.stats import t

from benchmarks.strategies.measure import BLOCK, Found
from workers.catalog import load_catalog
from workers.catalog.component import Component
from workers.catalog.component_docs import explanation, parameters

TABLE, CATALOG = "results", "catalog"
BASELINE = "fedavg"
HEAD = "| strategy | round 10 | round 30 | 95 % interval | against FedAvg, same seeds | sent in all |"
RULE = "| --- | ---: | ---: | ---: | ---: | ---: |"


def marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: written by `python -m benchmarks.strategies` -->", f"<!-- /{name} -->"


def table_text(known: Mapping[str, Found]) -> str:
    """Best first."""
    order = sorted(known, key=lambda name: -statistics.mean(final(known[name])))
    return "\n".join([HEAD, RULE, *(row(name, known) for name in order)])


def final(found: Found) -> list[float]:
    values: list[float] = found["accuracy"][str(BLOCK["rounds"])]
    return values


def row(name: str, known: Mapping[str, Found]) -> str:
    found = known[name]
    mean, half = interval(final(found))
    cells = [
        f"[{load_catalog().strategies[name].label}](#{name})",
        percent(statistics.mean(found["accuracy"]["10"])),
        f"**{percent(mean)}**",
        f"{percent(max(0.0, mean - half))} – {percent(min(1.0, mean + half))}",
        "" if name == BASELINE else difference(final(found), final(known[BASELINE])),
        megabytes(found["bytes"]),
    ]
    return f"| {' | '.join(cells)} |"


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half width of Student's 95 % interval."""
    half = float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values), half


def difference(values: Sequence[float], baseline: Sequence[float]) -> str:
    """Seed by seed: the same partition and the same first model, so that only the strategy differs."""
    mean, half = interval([one - other for one, other in zip(values, baseline, strict=True)])
    return f"{100 * mean:+.1f} ± {100 * half:.1f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def megabytes(value: float) -> str:
    return f"{value / 1e6:.1f} MB" if value else "nothing"


def catalog_text() -> str:
    found = [each for each in load_catalog().strategies.values() if not each.origin]
    return "\n\n".join("\n\n".join(section(each)) for each in found)


def section(component: Component) -> Iterator[str]:
    yield f"### {component.name}"
    yield f"**{component.label}.** {component.paper}." if component.paper else f"**{component.label}.**"
    yield from explanation(component)
    if rows := parameters(component):
        lines = [f"| `{each.name}` | `{each.default}` | {each.allowed} | {each.meaning} |" for each in rows]
        yield "\n".join(["| parameter | default | allowed | meaning |", "| --- | --- | --- | --- |", *lines])
