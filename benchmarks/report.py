"""Measurements as a table: pure functions from results to Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.plan import CONTESTS, NAMES, Contest
from benchmarks.shapes import SHAPES

START, END = "<!-- benchmark: written by `make bench` -->", "<!-- /benchmark -->"
MEMORY_LIMIT = 4e9
HEAD = "| federation | contender | best setting | warm round | Tributary is | floor | first round after |"
RULE = "| --- | --- | --- | ---: | ---: | ---: | ---: |"


def table(results: Mapping[str, Any]) -> str:
    """`results["contests"]` has by `shape/contender` the best measurement."""
    rows = [row(contest, results["contests"]) for contest in CONTESTS if key(contest) in results["contests"]]
    return "\n".join([machine_line(results["machine"]), "", HEAD, RULE, *rows, "", *memory_line(results["contests"])])


def key(contest: Contest) -> str:
    return f"{contest.shape}/{contest.contender}"


def row(contest: Contest, found: Mapping[str, Any]) -> str:
    measured = found[key(contest)]
    ratio = faster(contest, found)
    cells = [
        SHAPES[contest.shape].title if contest.contender == "tributary" else "",
        name(contest.contender, measured),
        measured["setting"],
        milliseconds(measured["warm"]),
        "" if ratio is None else f"**{ratio:.1f}x** faster",
        "" if contest.floor is None else f"{contest.floor:g}x",
        f"{measured['cold']:.1f} s",
    ]
    return f"| {' | '.join(cells)} |"


def name(contender: str, measured: Mapping[str, Any]) -> str:
    return f"{NAMES[contender]} ({measured['engine']})" if measured.get("engine") else NAMES[contender]


def faster(contest: Contest, found: Mapping[str, Any]) -> float | None:
    own = found.get(f"{contest.shape}/tributary")
    if contest.contender == "tributary" or own is None:
        return None
    ratio: float = found[key(contest)]["warm"] / own["warm"]
    return ratio


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:,.1f} ms" if seconds < 1 else f"{seconds:,.2f} s"


def machine_line(machine: Mapping[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, {packages}. "
        "Medians of warm rounds, all in one run, in which contenders take turns."
    )


def memory_line(found: Mapping[str, Any]) -> list[str]:
    if "memory/tributary" not in found:
        return []
    peak = found["memory/tributary"]["peak_bytes"]
    return [f"Peak memory of the last federation: **{peak / 1e9:.2f} GB** (limit {MEMORY_LIMIT / 1e9:g} GB)."]


def missed(found: Mapping[str, Any]) -> Iterable[str]:
    """Floors that this run did not reach."""
    for contest in CONTESTS:
        ratio = faster(contest, found) if key(contest) in found else None
        if ratio is not None and contest.floor is not None and ratio < contest.floor:
            yield f"{key(contest)}: {ratio:.2f}x, the floor is {contest.floor:g}x"
    if "memory/tributary" in found and found["memory/tributary"]["peak_bytes"] >= MEMORY_LIMIT:
        yield f"memory: {found['memory/tributary']['peak_bytes'] / 1e9:.2f} GB"


def publish(path: Path, text: str, marks: tuple[str, str] = (START, END)) -> bool:
    """Replaces what stands between the marks; false where there are none."""
    start, end = marks
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    pattern = re.compile(f"{re.escape(start)}.*?{re.escape(end)}", re.DOTALL)
    if not pattern.search(before):
        return False
    path.write_text(pattern.sub(lambda _: f"{start}\n{text}\n{end}", before), encoding="utf-8")
    return True
