"""The HAR half of the preset `iaisy-2024`, as published: 880 runs through the platform, beside the printed numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.core.management import call_command

from benchmarks.publish import RESULTS
from benchmarks.study.grids import HAR
from benchmarks.study.lab import with_data
from benchmarks.study.measures import measure_study, one_seed, share_out, time_engine
from benchmarks.study.report import duration_text, engine_ratio, machine_line, platform_share
from experiments.models import Study, User
from experiments.presets.preset import presets
from experiments.presets.selectors import preset_results
from experiments.results.selectors.summaries import study_summary

MARKS = ("<!-- whole HAR: written by `python -m benchmarks.study --full-har` -->", "<!-- /whole HAR -->")
PRESET = "iaisy-2024"
STORED = RESULTS / "reproduction"
ENGINE_LIMIT = 1.15
QUICK_HYBRID = {"method": ["share-disjoint", "unify"], "ratio": [0.0, 1.0]}
READINGS = {"final": "final accuracy %", "reach": "first round of 90 %"}
AXES = ("local.optimizer", "hybrid.method", "hybrid.ratio")


def measure_whole_har(owner: User, *, quick: bool) -> dict[str, Any]:
    """The engine's own time is that of one run of each cell, before and after, times the seeds.

    The runs are stored for the reproduction report, which asks for the same ones.
    """
    block = har_block()
    if quick:
        block = {**block, "hybrid": QUICK_HYBRID, "rounds": 2, "seeds": 2}
    if with_data(HAR).is_made:
        raise SystemExit("UCI HAR is not beside the repository (../shared/data): the printed numbers are of that data.")
    specs = one_seed(block)
    engine = [share_out(time_engine(specs), block["seeds"])]
    result = measure_study(owner, f"{PRESET}: UCI HAR", [block], tags=["reproduction", PRESET])
    if not quick:
        call_command("stored_runs", "save", str(STORED), preset=PRESET)
    engine.append(share_out(time_engine(specs), block["seeds"]))
    study = Study.objects.get(pk=result["study"])
    return {
        **result,
        "rounds": block["rounds"],
        "engine": engine,
        "accuracy": accuracies(study),
        "published": printed(study),
    }


def har_block() -> dict[str, Any]:
    blocks = presets()[PRESET].scales["full"].blocks
    return next(dict(block) for block in blocks if block["dataset"]["name"] == HAR.dataset)


def accuracies(study: Study) -> list[dict[str, Any]]:
    """Of each cell's last round, over its seeds."""
    rows = study_summary(study=study.pk, by=AXES).rows
    return [{**row.group, "mean": row.mean, "std": row.std, "n": row.n} for row in rows]


def printed(study: Study) -> list[dict[str, Any]]:
    """As far as they are of cells that this block has."""
    rows = preset_results(preset=presets()[PRESET], study=study).rows
    return [
        {
            "match": row.published.match,
            "reading": row.published.reading.model_dump(),
            "unit": row.published.unit,
            "published": row.published.value,
            "measured": row.mean,
            "low": row.low,
            "high": row.high,
        }
        for row in rows
        if row.mean is not None and row.published.match.get("dataset", {}).get("name") == HAR.dataset
    ]


def whole_har_table(results: Mapping[str, Any]) -> str:
    har = results["har"]
    summary = (
        f"{har['runs']} runs of {har['rounds']} rounds took **{duration_text(har['wall'])}** from the launch to the "
        f"last end, {engine_ratio(har):.2f} times the engine's own time for these specs (limit {ENGINE_LIMIT:g}); the "
        f"platform took {platform_share(har):.1%}."
    )
    parts = [
        [machine_line(results["machine"], "The engine alone")],
        [summary],
        accuracy_rows(har["accuracy"]),
        printed_rows(har["published"]),
    ]
    return "\n\n".join("\n".join(part) for part in parts)


def accuracy_rows(cells: Iterable[Mapping[str, Any]]) -> list[str]:
    cells = list(cells)
    ratios = list(dict.fromkeys(cell["hybrid.ratio"] for cell in cells))
    kinds = list(dict.fromkeys((cell["local.optimizer"], cell["hybrid.method"]) for cell in cells))
    by_place = {(cell["local.optimizer"], cell["hybrid.method"], cell["hybrid.ratio"]): cell for cell in cells}
    return [
        f"| accuracy %, ratio | {' | '.join(f'{ratio:g}' for ratio in ratios)} |",
        f"| --- |{' ---: |' * len(ratios)}",
        *(
            f"| {optimizer}, {method} | "
            + " | ".join(accuracy_text(by_place.get((optimizer, method, ratio))) for ratio in ratios)
            + " |"
            for optimizer, method in kinds
        ),
    ]


def accuracy_text(cell: Mapping[str, Any] | None) -> str:
    if cell is None or cell["mean"] is None:
        return ""
    return f"{cell['mean'] * 100:.2f}" + ("" if cell["std"] is None else f" ± {cell['std'] * 100:.2f}")


def printed_rows(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    lines = [
        "| published | optimizer, ratio | printed | measured here | 95 % interval |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        what = READINGS.get(row["reading"]["take"], row["reading"]["take"])
        place = f"{row['match']['local']['optimizer']['name']}, {row['match'].get('hybrid', {}).get('ratio', 'any')}"
        lines.append(
            f"| {what} | {place} | {row['published']:g} | {number_text(row['measured'])} "
            f"| {number_text(row['low'])} to {number_text(row['high'])} |"
        )
    return lines


def number_text(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
