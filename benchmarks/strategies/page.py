"""docs/strategies.md: the table of results and the catalog's strategies, as pure functions to Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence

from scipy.stats import t

from benchmarks.strategies.measure import BLOCK, StrategyResult
from workers.catalog import load_catalog
from workers.catalog.component import Component
from workers.catalog.component_docs import docstring_paragraphs, parameter_docs

TABLE, CATALOG = "results", "catalog"
BASELINE = "fedavg"
HEAD = "| strategy | round 10 | round 30 | 95 % interval | against FedAvg, same seeds | sent in all |"
RULE = "| --- | ---: | ---: | ---: | ---: | ---: |"


def strategy_marks(name: str) -> tuple[str, str]:
    return f"<!-- {name}: written by `python -m benchmarks.strategies` -->", f"<!-- /{name} -->"


def table_text(results: Mapping[str, StrategyResult]) -> str:
    """Best first."""
    order = sorted(results, key=lambda name: -statistics.mean(final_accuracies(results[name])))
    return "\n".join([HEAD, RULE, *(strategy_row(name, results) for name in order)])


def final_accuracies(result: StrategyResult) -> list[float]:
    values: list[float] = result["accuracy"][str(BLOCK["rounds"])]
    return values


def strategy_row(name: str, results: Mapping[str, StrategyResult]) -> str:
    result = results[name]
    mean, half = mean_and_half_width(final_accuracies(result))
    cells = [
        f"[{load_catalog().strategies[name].label}](#{name})",
        percent_text(statistics.mean(result["accuracy"]["10"])),
        f"**{percent_text(mean)}**",
        f"{percent_text(max(0.0, mean - half))} – {percent_text(min(1.0, mean + half))}",
        "" if name == BASELINE else difference_text(final_accuracies(result), final_accuracies(results[BASELINE])),
        megabytes_text(result["bytes"]),
    ]
    return f"| {' | '.join(cells)} |"


def mean_and_half_width(values: Sequence[float]) -> tuple[float, float]:
    """Mean and half width of Student's 95 % interval."""
    half = float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values), half


def difference_text(values: Sequence[float], baseline: Sequence[float]) -> str:
    """Seed by seed: the same partition and the same first model, so that only the strategy differs."""
    mean, half = mean_and_half_width([one - other for one, other in zip(values, baseline, strict=True)])
    return f"{100 * mean:+.1f} ± {100 * half:.1f}"


def percent_text(value: float) -> str:
    return f"{100 * value:.1f}"


def megabytes_text(value: float) -> str:
    return f"{value / 1e6:.1f} MB" if value else "nothing"


def catalog_text() -> str:
    strategies = [each for each in load_catalog().strategies.values() if not each.origin]
    return "\n\n".join("\n\n".join(strategy_section(each)) for each in strategies)


def strategy_section(component: Component) -> Iterator[str]:
    yield f"### {component.name}"
    yield f"**{component.label}.** {component.paper}." if component.paper else f"**{component.label}.**"
    yield from docstring_paragraphs(component)
    if rows := parameter_docs(component):
        lines = [f"| `{each.name}` | {code_text(each.default)} | {each.allowed} | {each.meaning} |" for each in rows]
        yield "\n".join(["| parameter | default | allowed | meaning |", "| --- | --- | --- | --- |", *lines])


def code_text(value: str) -> str:
    return f"`{value}`" if value else ""
