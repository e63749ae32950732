"""Measurements as a table: pure functions from results to Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.engine.contests import CONTENDER_NAMES, CONTESTS, Contest
from benchmarks.engine.shapes import SHAPES
from benchmarks.ratios import LEAST_NOISE, Ratio, pass_spread

MARKS = ("<!-- benchmark: written by `make bench` -->", "<!-- /benchmark -->")
MEMORY_LIMIT = 4e9
HEAD = "| federation | contender | best setting | warm round | Tributary is | floor | first round after |"
RULE = "| --- | --- | --- | ---: | ---: | ---: | ---: |"


def engine_table(results: Mapping[str, Any]) -> str:
    """`results["contests"]` has by `shape/contender` the best measurement."""
    rows = [
        contest_row(contest, results["contests"]) for contest in CONTESTS if contest_key(contest) in results["contests"]
    ]
    return "\n".join([machine_line(results["machine"]), "", HEAD, RULE, *rows, "", *memory_line(results["contests"])])


def contest_key(contest: Contest) -> str:
    return f"{contest.shape}/{contest.contender}"


def contest_row(contest: Contest, results: Mapping[str, Any]) -> str:
    measured = results[contest_key(contest)]
    ratio = speed_ratio(contest, results)
    cells = [
        SHAPES[contest.shape].title if contest.contender == "tributary" else "",
        contender_name(contest.contender, measured),
        measured["setting"],
        seconds_text(measured["warm"]),
        "" if ratio is None else f"**{ratio:.1f}x** faster",
        "" if contest.floor is None else f"{contest.floor:g}x",
        f"{measured['cold']:.1f} s",
    ]
    return f"| {' | '.join(cells)} |"


def contender_name(contender: str, measured: Mapping[str, Any]) -> str:
    return (
        f"{CONTENDER_NAMES[contender]} ({measured['engine']})" if measured.get("engine") else CONTENDER_NAMES[contender]
    )


def speed_ratio(contest: Contest, results: Mapping[str, Any]) -> float | None:
    own = results.get(f"{contest.shape}/tributary")
    if contest.contender == "tributary" or own is None:
        return None
    ratio: float = results[contest_key(contest)]["warm"] / own["warm"]
    return ratio


def engine_ratios(results: Mapping[str, Any]) -> dict[str, Ratio]:
    """By `shape/contender`; results from before passes were kept have the least noise."""
    contests = results["contests"]
    ratios = {}
    for contest in CONTESTS:
        value = speed_ratio(contest, contests) if contest_key(contest) in contests else None
        if value is not None:
            both = (contests[contest_key(contest)], contests[f"{contest.shape}/tributary"])
            noise = sum(pass_spread(each["pass_medians"]) for each in both if each.get("pass_medians"))
            ratios[contest_key(contest)] = Ratio(value, max(LEAST_NOISE, noise))
    return ratios


def seconds_text(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.2f} s"


def machine_line(machine: Mapping[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, {packages}. "
        "Medians of warm rounds, all in one run, in which contenders take turns."
    )


def memory_line(results: Mapping[str, Any]) -> list[str]:
    if "memory/tributary" not in results:
        return []
    peak = results["memory/tributary"]["peak_bytes"]
    return [f"Peak memory of the last federation: **{peak / 1e9:.2f} GB** (limit {MEMORY_LIMIT / 1e9:g} GB)."]


def missed_floors(results: Mapping[str, Any]) -> Iterable[str]:
    """Floors that this run did not reach."""
    for contest in CONTESTS:
        ratio = speed_ratio(contest, results) if contest_key(contest) in results else None
        if ratio is not None and contest.floor is not None and ratio < contest.floor:
            yield f"{contest_key(contest)}: {ratio:.2f}x, the floor is {contest.floor:g}x"
    if "memory/tributary" in results and results["memory/tributary"]["peak_bytes"] >= MEMORY_LIMIT:
        yield f"memory: {results['memory/tributary']['peak_bytes'] / 1e9:.2f} GB"
