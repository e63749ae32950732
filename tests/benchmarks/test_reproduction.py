from __future__ import annotations

from typing import Any

import pytest

from benchmarks.reproduction.__main__ import PAGE, read_results, results_text
from benchmarks.reproduction.report import FOLDER, chart_files, preset_marks, preset_section
from benchmarks.reproduction.svg import Frame, draw_chart, round_ticks

RESULTS: dict[str, Any] = {
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


def test_a_section_says_what_is_done_what_was_found_and_what_is_missing() -> None:
    text = preset_section("some", RESULTS)

    assert text.startswith(
        "*A study.* Half of it. 4 runs: **3 of 4 runs are done; the others are missing below**.\n\n"
        "![Curves](reproduction/some-1.svg)\n\n"
        "**Accuracy**\n\n| strategy | round 10 |\n| --- | ---: |\n"
        "| fedavg | 90.0 † |\n| fedprox | **91.0** |\n\nover seeds."
    )
    assert "1 numbers compared, 0 of 1 inside the measured 95 % interval." in text
    row = "| mnist · fedavg | test accuracy at the end | 91.15 % | 93.19 [92.86, 93.52] % | 5 | +2.04 | no |"
    assert text.splitlines()[-3:] == [row, "", "- 6 not compared: This study has no such cell."]


def test_long_tables_are_folded() -> None:
    rows = [[[str(place)], [["1", ""]]] for place in range(25)]
    text = preset_section("some", {**RESULTS, "tables": [{**RESULTS["tables"][0], "rows": rows}]})
    assert "<details><summary>Accuracy</summary>" in text


def test_a_picture_has_a_line_a_band_and_a_legend() -> None:
    svg = draw_chart(RESULTS["charts"][0])

    assert svg.count('stroke-width="2"') == 2  # the line, and its swatch in the legend
    assert svg.count('fill-opacity="0.15"') == 1
    assert "a &lt; b" in svg
    assert svg == draw_chart(RESULTS["charts"][0])


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


def test_results_are_stored_a_line_for_each_part() -> None:
    assert results_text({"study": "é", "states": {"done": 1}}) == '{\n"study": "é",\n"states": {"done": 1}\n}\n'


def test_the_page_and_its_pictures_are_what_the_stored_results_say() -> None:
    page = PAGE.read_text(encoding="utf-8")
    results = read_results()

    assert list(results) == ["athena-fl-2023", "bozorgzad-2024", "iaisy-2024", "mazarakis-2023", "tagarakis-2023"]
    for preset, told in results.items():
        start, end = preset_marks(preset)
        assert page.partition(start)[2].partition(end)[0] == f"\n{preset_section(preset, told)}\n"
        for name, svg in chart_files(preset, told).items():
            assert (PAGE.parent / FOLDER / name).read_text(encoding="utf-8") == svg
