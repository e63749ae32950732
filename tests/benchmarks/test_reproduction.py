from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reproduction.__main__ import PAGE, RESULTS, STUDIES, VERDICTS, read_earlier, read_reproductions
from benchmarks.reproduction.charts import cell_words, curve_charts
from benchmarks.reproduction.earlier import earlier_chart_files, earlier_section
from benchmarks.reproduction.measured import Reproduction, reproduce, stored_cells
from benchmarks.reproduction.report import (
    FOLDER,
    SUMMARY_MARKS,
    chart_files,
    preset_marks,
    preset_section,
    summary_table,
    verdict_counts,
)
from benchmarks.svg import Frame, draw_chart, log_ticks, round_ticks
from experiments.presets.comparison import MeasuredCell
from experiments.presets.preset import presets
from experiments.stored_runs.files import StoredRun
from workers.spec import canonical_hash, expand, parse_run
from workers.spec.yaml import read_yaml

EARLIER: dict[str, Any] = {
    "study": "A study",
    "cut": "Half of it.",
    "states": {"done": 3, "queued": 1},
    "compared": [
        {
            "about": "mnist · fedavg",
            "what": "test accuracy at the end",
            "unit": "%",
            "published": "91.15",
            "measured": "93.19 [92.86, 93.52]",
            "n": 5,
            "difference": "+2.04",
            "inside": False,
        }
    ],
    "not_compared": {"This study has no such cell.": 6},
    "tables": [
        {
            "title": "Accuracy",
            "heads": ["strategy"],
            "columns": ["round 10"],
            "rows": [[["fedavg"], [["90.0", "tie"]]], [["fedprox"], [["91.0", "best"]]]],
            "caption": "over seeds",
        }
    ],
    "charts": [{"title": "Curves", "x": "round", "y": "%", "lines": {"a < b": [[0, 10, 9, 11], [10, 20, None, None]]}}],
}


def stored(ratio: float, seed: int, end: float, **fields: Any) -> StoredRun:
    """A run of UCI HAR whose accuracy goes from 50 % to that end in 20 rounds, in two steps."""
    spec = parse_run(
        {
            "dataset": {"name": "uci-har"},
            "model": {"name": "mlp-50"},
            "partition": {"name": "natural"},
            "clients": None,
            "strategy": {"name": "fedavg"},
            "hybrid": {"ratio": ratio},
            "local": {"epochs": 5, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9}},
            "seed": seed,
        }
    )
    curve = {number: 0.5 if number < 10 else end for number in range(21)}
    facts = {"engine_version": 3, "engine": "cohort", "device_type": "cpu", "finished": ""}
    values = {"provenance": {"seconds": 1800.0, "cpu": "a processor"}, "findings": {}, "curves": {"accuracy": curve}}
    return StoredRun(
        **{
            "hash": canonical_hash(spec),
            "cell": f"{ratio}",
            "seed": seed,
            **facts,
            "spec": spec.model_dump(mode="json"),
            **values,
            **fields,
        }
    )


def har(*ends: float) -> Reproduction:
    runs = [stored(ratio, seed, end - ratio / 100) for ratio in (0.0, 1.0) for seed, end in enumerate(ends)]
    return reproduce(presets()["iaisy-2024"], runs)


def test_a_section_has_counts_verdicts_claims_and_what_is_missing() -> None:
    """At ratio 0 the mean is 91.5, published 91.15: agrees. At ratio 1 it is 90.5, published 95.25: differs; 90 % is
    passed in round 10 at both, published about 15 and 2, and accuracy settles in round 2, published about 5."""
    text = preset_section(har(0.910, 0.915, 0.920))

    assert text.startswith(
        "**1 of 14 agree, 4 differ, 9 not compared, and 0 of 15 that settings were fitted to.**\n\n"
        "6 stored runs in 2 cells (2 with 3 seeds), version 3 of the engine, 3.0 hours of computing on a processor."
    )
    assert (
        "| UCI HAR · batch 32 SGD (lr = 0.01, momentum = 0.9) · share-disjoint hybrid 0 % | test accuracy at the end "
        "| agrees | 91.15 % | 91.50 [90.26, 92.74] % | 3 | +0.35 |"
    ) in text
    assert "| Centralised training beats federated training (UCI HAR, SGD). | opposite | p = 1, 3 seeds |" in text
    assert "No run of such a cell is stored." in text
    assert "<details><summary>Every cell</summary>" in text


def test_two_seeds_give_no_verdict() -> None:
    assert har(0.91, 0.92).counts.agree == 0
    assert har(0.91, 0.915, 0.92).counts.agree == 1


def test_seeds_stay_together_whose_specs_are_older_than_a_field() -> None:
    """`local.steps` came later: the older run has no such field and the younger one its default."""
    older, younger = stored(0.0, 0, 0.9), stored(0.0, 1, 0.8)
    local = {name: value for name, value in older.spec["local"].items() if name != "steps"}
    assert older.spec["local"]["steps"] is None
    (cell,) = stored_cells([replace(older, spec={**older.spec, "local": local}), younger])
    assert list(cell.seeds) == [0, 1]


def test_a_field_that_follows_from_the_strategy_makes_no_chart_of_its_own() -> None:
    """FedLoss alone keeps a tenth to validate, and is in one picture with FedAvg; two ratios are two pictures."""

    def cell(ratio: float, strategy: str, validation: float) -> MeasuredCell:
        spec = stored(ratio, 0, 0.9).spec
        evaluation = {**spec["evaluation"], "on": "clients", "validation": validation}
        spec = {**spec, "strategy": {"name": strategy}, "evaluation": evaluation}
        return MeasuredCell(spec, {0: [{"accuracy": {0: 0.1, 1: 0.9}}]})

    both = [cell(0.0, "fedavg", 0.0), cell(0.0, "fedloss", 0.1)]
    (chart,) = curve_charts(both, cell_words(both))
    assert (chart["title"], list(chart["lines"])) == ("Accuracy over rounds", ["FedAvg", "FedLoss"])
    equal = [*both, cell(0.0, "fedavg", 0.1)]
    assert [list(chart["lines"]) for chart in curve_charts(equal, cell_words(equal))] == [
        ["FedAvg"],
        ["FedAvg", "FedLoss"],
    ]


def test_of_a_seed_computed_under_two_engines_the_newer_counts() -> None:
    old = stored(0.0, 0, 0.5, engine_version=2, hash="old")
    (cell,) = stored_cells([old, stored(0.0, 0, 0.9), stored(0.0, 1, 0.8)])
    assert {seed: [curves["accuracy"][20] for curves in runs] for seed, runs in cell.seeds.items()} == {
        0: [0.9],
        1: [0.8],
    }


def test_the_summary_has_a_row_for_each_study() -> None:
    assert summary_table([har(0.910, 0.915, 0.920)]).splitlines()[-1] == (
        "| `iaisy-2024` | 6 | 14 | **1** | 4 | 9 | 0 of 15 | 0 of 1 |"
    )


def test_ratios_have_a_chart_of_final_values_and_one_of_rounds() -> None:
    pictures = chart_files(har(0.91, 0.92))
    assert list(pictures) == ["iaisy-2024-1.svg", "iaisy-2024-2.svg"]
    assert "<title>Final accuracy</title>" in pictures["iaisy-2024-1.svg"]


@pytest.mark.parametrize("path", sorted(STUDIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_a_study_to_launch_is_of_a_preset_and_of_its_full_scale(path: Path) -> None:
    study = read_yaml(path)
    kind, name = study["tags"]
    assert kind in ("reproduction", "reproduction-aside")
    full = {run.cell for run in expand(presets()[name].scales["full"].blocks).runs}
    # A cut may end earlier than the published runs; apart from that these are cells of the preset.
    rounds = {"rounds": 100} if name == "mazarakis-2023" else {}
    cells = {run.cell for run in expand([{**block, **rounds} for block in study["blocks"]]).runs}
    if path.stem.startswith(("iaisy", "mazarakis")):
        assert cells <= full


def test_earlier_results_are_shown_as_such() -> None:
    text = earlier_section("some", EARLIER)

    assert "*A study.* Half of it. 4 runs: **3 of 4 runs are done; the others are missing below**." in text
    assert "| fedavg | 90.0 † |\n| fedprox | **91.0** |\n\nover seeds." in text
    assert text.splitlines()[-1] == "- 6 not compared: This study has no such cell."


def test_a_picture_has_a_line_a_band_and_a_legend() -> None:
    svg = draw_chart(EARLIER["charts"][0])

    assert svg.count('stroke-width="2"') == 2  # the line, and its swatch in the legend
    assert svg.count('fill-opacity="0.15"') == 1
    assert "a &lt; b" in svg
    assert svg == draw_chart(EARLIER["charts"][0])


def test_values_lie_where_the_axes_say() -> None:
    frame = Frame((0.0, 10.0), (0.0, 100.0), top=0)
    assert (frame.across(0), frame.across(10)) == (56.0, 626.0)
    assert (frame.up(0), frame.up(100)) == (296.0, 14.0)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]), (91.3, 95.8, [92, 93, 94, 95]), (0, 61, [0, 20, 40, 60])],
)
def test_ticks_are_round_numbers(low: float, high: float, expected: list[float]) -> None:
    assert round_ticks(low, high) == expected


def test_a_logarithmic_axis_has_its_decades_and_nothing_at_zero() -> None:
    svg = draw_chart(
        {"title": "", "x": "", "y": "", "lines": {"a": [(0, 9, 9, 9), (1, 1, 1, 1), (100, 2, 2, 2)]}, "log_x": True}
    )

    assert log_ticks(0.0, 2.0) == [1, 2, 5, 10, 20, 50, 100]
    assert log_ticks(-0.5, 0.1) == [0.5, 1]
    # 1 at the left end, 10 in the middle, 100 at the right end.
    assert [f'<text x="{at}"' in svg for at in ("56.0", "341.0", "626.0")] == [True, True, True]
    assert svg.count("M56.0,") == 2  # the band and the line begin at 1


def test_page_pictures_and_counts_are_what_the_stored_runs_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    reproductions = read_reproductions()
    names = [each.preset.name for each in reproductions]
    sections = {each.preset.name: (preset_section(each), chart_files(each)) for each in reproductions}
    sections |= {
        name: (earlier_section(name, results), earlier_chart_files(name, results))
        for name, results in read_earlier(names).items()
    }

    assert between(page, SUMMARY_MARKS) == f"\n{summary_table(reproductions)}\n"
    assert json.loads(VERDICTS.read_text(encoding="utf-8")) == verdict_counts(reproductions)
    for preset, (text, pictures) in sections.items():
        assert between(page, preset_marks(preset)) == f"\n{text}\n"
        for name, svg in pictures.items():
            assert (PAGE.parent / FOLDER / name).read_text(encoding="utf-8") == svg
    assert len(list(RESULTS.glob("*.json"))) >= len(read_earlier(names))


def between(page: str, marks: tuple[str, str]) -> str:
    start, end = marks
    return page.partition(start)[2].partition(end)[0]
