"""The grids' measurements as tables: pure functions from results to Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.engine.report import seconds_text
from benchmarks.ratios import Ratio, time_ratio
from benchmarks.study.grids import GRIDS

MARKS = ("<!-- study: written by `python -m benchmarks.study` -->", "<!-- /study -->")
HEAD = (
    "| grid | runs | launch to end | runs a minute | training | evaluation | platform | engine alone | plain script "
    "| Tributary is | floor |"
)
RULE = "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
FLOWER_FLOOR = 40
CELL_FLOOR = 3
PLATFORM_LIMIT = 0.10
LIMITED_GRID = "har"
"""The one whose platform share and cells have limits."""


def study_table(results: Mapping[str, Any]) -> str:
    grids = results["grids"]
    rows = [grid_row(name, grids[name]) for name in GRIDS if name in grids]
    parts = [[machine_line(results["machine"])], [HEAD, RULE, *rows]]
    if "flower" in results:
        parts.append([flower_line(results)])
    if "har" in grids:
        parts.append(cell_table(grids["har"]))
    return "\n\n".join("\n".join(part) for part in parts)


def grid_row(name: str, grid: Mapping[str, Any]) -> str:
    title = GRIDS[name].title + (" (made data)" if grid["data"] == "made" else "")
    cells = [
        title,
        str(grid["runs"]),
        duration_text(grid["wall"]),
        f"{grid['runs'] / grid['wall'] * 60:.1f}",
        f"{grid['shares']['train']:.0%}",
        f"{grid['shares']['evaluate']:.0%}",
        f"{platform_share(grid):.1%}",
        duration_text(statistics.median(grid["engine"])),
        duration_text(statistics.median(grid["plain"])),
        f"**{plain_ratio(grid).value:.1f}x** faster",
        f"{GRIDS[name].floor:g}x",
    ]
    return f"| {' | '.join(cells)} |"


def platform_share(grid: Mapping[str, Any]) -> float:
    """What the workers' time was besides the runs' own seconds."""
    return 1.0 - float(grid["own"])


def plain_ratio(grid: Mapping[str, Any]) -> Ratio:
    return time_ratio(grid["plain"], [grid["wall"]])


def engine_ratio(grid: Mapping[str, Any]) -> float:
    """The whole study in terms of the engine's own time for the same specs."""
    return float(grid["wall"] / statistics.median(grid["engine"]))


def flower_ratios(results: Mapping[str, Any]) -> dict[str, Ratio]:
    """By what counts: the whole process of each run, or its rounds alone."""
    grid = results["grids"]["lr"]
    return {
        part: time_ratio([each[part] * grid["runs"] for each in results["flower"]], [grid["wall"]])
        for part in ("process", "rounds")
    }


def flower_line(results: Mapping[str, Any]) -> str:
    ratios = flower_ratios(results)
    runs = results["grids"]["lr"]["runs"]
    process = statistics.median(each["process"] for each in results["flower"])
    return (
        f"Flower's simulator takes {duration_text(process)} for a run of the LR grid, evaluated every round, in a "
        f"process of its own on both cores: {duration_text(process * runs)} for its {runs} runs. Tributary is "
        f"**{ratios['process'].value:.0f}x** faster (floor {FLOWER_FLOOR}x), and {ratios['rounds'].value:.0f}x where "
        "only the rounds of Flower's runs count."
    )


def cell_table(grid: Mapping[str, Any]) -> list[str]:
    """Seconds of one run, on one thread beside another: rows are optimizers and contenders, columns are ratios."""
    ratios = list(dict.fromkeys(cell["ratio"] for cell in grid["cells"]))
    names = list(dict.fromkeys(cell["optimizer"]["name"] for cell in grid["cells"]))
    lines = [
        f"| seconds a HAR run, ratio | {' | '.join(f'{ratio:g}' for ratio in ratios)} |",
        f"| --- |{' ---: |' * len(ratios)}",
    ]
    for name in names:
        cells = [cell for cell in grid["cells"] if cell["optimizer"]["name"] == name]
        for contender, title in (("plain", "plain script"), ("engine", "engine alone")):
            lines.append(f"| {name}, {title} | {' | '.join(f'{cell[contender]:.2f}' for cell in cells)} |")
        lines.append(f"| {name}, ratio | {' | '.join(f'**{cell_ratio(cell):.1f}**' for cell in cells)} |")
    return lines


def cell_ratio(cell: Mapping[str, Any]) -> float:
    return float(cell["plain"] / cell["engine"])


def machine_line(machine: Mapping[str, Any], beside: str = "Engine and plain script") -> str:
    return (
        f"Measured on {machine['cpu']}, {machine['cores']} cores, {machine['memory_gb']} GB, {machine['system']}, "
        f"Python {machine['python']}, torch {machine['packages']['torch']}: two workers of one thread, the embedded "
        f"PostgreSQL with its durable settings. {beside} ran in two processes of one thread, before and after the "
        "study."
    )


def duration_text(seconds: float) -> str:
    return seconds_text(seconds) if seconds < 120 else f"{seconds / 60:,.1f} min"


def study_ratios(results: Mapping[str, Any]) -> dict[str, Ratio]:
    ratios = {f"{name}, plain script": plain_ratio(grid) for name, grid in results["grids"].items()}
    if "flower" in results:
        ratios |= {f"lr, Flower, {part}": ratio for part, ratio in flower_ratios(results).items()}
    return ratios


def missed_floors(results: Mapping[str, Any]) -> Iterable[str]:
    """Floors and limits that this run did not keep."""
    for name, grid in results["grids"].items():
        ratio = plain_ratio(grid).value
        if ratio < GRIDS[name].floor:
            yield f"{name}: {ratio:.2f}x the plain script, the floor is {GRIDS[name].floor:g}x"
        if name == LIMITED_GRID:
            yield from missed_cells(grid["cells"])
            if platform_share(grid) > PLATFORM_LIMIT:
                yield f"{name}: the platform took {platform_share(grid):.1%}, the limit is {PLATFORM_LIMIT:.0%}"
    if "flower" in results and (ratio := flower_ratios(results)["process"].value) < FLOWER_FLOOR:
        yield f"lr: {ratio:.1f}x Flower's simulator, the floor is {FLOWER_FLOOR}x"


def missed_cells(cells: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    for cell in cells:
        if cell_ratio(cell) < CELL_FLOOR:
            where = f"{cell['optimizer']['name']}, ratio {cell['ratio']:g}"
            yield f"har, {where}: {cell_ratio(cell):.2f}x the plain script, the floor is {CELL_FLOOR}x"
