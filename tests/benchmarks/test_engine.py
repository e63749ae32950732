from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.engine.__main__ import best_setting, pool_passes, warm_rounds
from benchmarks.engine.contests import CONTESTS, Contest, Setting, contender_command, count_text
from benchmarks.engine.report import MARKS, engine_table, missed_floors, seconds_text, speed_ratio
from benchmarks.publish import ROOT, replace_between_marks

MACHINE = {
    "cpu": "Some CPU",
    "cores": 2,
    "memory_gb": 16,
    "system": "Linux x86_64",
    "python": "3.11.7",
    "packages": {"torch": "2.13.0", "pfl": "0.6.0"},
}


def measurement(warm_seconds: float, **facts: Any) -> dict[str, Any]:
    return {"warm": warm_seconds, "cold": 3.0, "setting": "1 process, 1 thread", "peak_bytes": 1e9, **facts}


RESULTS = {
    "logistic/tributary": measurement(0.005, engine="cohort"),
    "logistic/flower-ray": measurement(0.2),
    "logistic/pfl": measurement(0.009),
    "memory/tributary": measurement(9.0, peak_bytes=2.5e9),
}


def contest(contender: str) -> Contest:
    return next(each for each in CONTESTS if (each.shape, each.contender) == ("logistic", contender))


def test_a_ratio_says_how_many_times_faster_tributary_is() -> None:
    assert speed_ratio(contest("flower-ray"), RESULTS) == pytest.approx(40)
    assert speed_ratio(contest("pfl"), RESULTS) == pytest.approx(1.8)
    assert speed_ratio(contest("tributary"), RESULTS) is None


def test_floors_that_were_not_reached_are_told() -> None:
    assert list(missed_floors(RESULTS)) == ["logistic/pfl: 1.80x, the floor is 2x"]
    assert list(missed_floors({"memory/tributary": measurement(9.0, peak_bytes=4.5e9)})) == ["memory: 4.50 GB"]


def test_passes_are_pooled_and_the_best_setting_is_shown() -> None:
    def one_pass(setting: str, rounds: list[float], cold: float) -> dict[str, Any]:
        return {"setting": setting, "rounds": rounds, "cold": cold, "peak_bytes": 7}

    one = pool_passes([one_pass("one", [1.0, 2.0], 9.0), one_pass("one", [6.0], 5.0), one_pass("one", [4.0, 5.0], 8.0)])
    two = pool_passes([one_pass("two", [3.0, 3.5, 9.0], 1.0)])

    pooled = {"setting": "one", "rounds": 5, "passes": 3, "pass_medians": [1.5, 6.0, 4.5], "warm": 4.0, "cold": 8.0}
    assert one == {**pooled, "peak_bytes": 7}
    assert best_setting([one, two])["setting"] == "two"
    assert best_setting([one, two])["all"] == {"one": 4.0, "two": 3.5}


def test_the_table_has_a_row_per_contender() -> None:
    lines = engine_table({"machine": MACHINE, "contests": RESULTS}).splitlines()
    assert lines[0].startswith(
        "Measured on Some CPU, 2 cores, 16 GB, Linux x86_64, Python 3.11.7, torch 2.13.0, pfl 0.6.0."
    )
    assert lines[4].startswith(
        "| LR 784x10, 1,000 clients x 60, 10 per round | Tributary (cohort) | 1 process, 1 thread"
    )
    assert lines[4].endswith("| 5.0 ms |  |  | 3.0 s |")
    assert lines[5] == ("|  | Flower, Ray backend | 1 process, 1 thread | 200.0 ms | **40.0x** faster | 20x | 3.0 s |")
    assert lines[-1] == "Peak memory of the last federation: **2.50 GB** (limit 4 GB)."


def test_times_are_shown_in_a_readable_unit() -> None:
    assert [seconds_text(seconds) for seconds in (0.0049, 0.2, 1.5)] == ["4.9 ms", "200.0 ms", "1.50 s"]


def test_the_first_quarter_of_the_rounds_is_not_warm() -> None:
    assert warm_rounds([9, 9, 1, 2, 3, 4, 5, 6]) == [1, 2, 3, 4, 5, 6]
    assert warm_rounds([9, 1, 2]) == [1, 2]


def test_several_processes_of_pfl_are_started_by_torchrun() -> None:
    words = contender_command(contest("pfl"), Setting(processes=2), 5, Path("out.json"))
    assert words[1:6] == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    assert "benchmarks.engine.contenders.pfl_simulation" in words


def test_settings_read_as_words() -> None:
    assert str(Setting(processes=2)) == "2 processes, 1 thread"
    assert count_text(2, "thread") == "2 threads"


def test_a_table_is_put_between_the_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{MARKS[0]}\nold\n{MARKS[1]}\nafter\n")
    assert replace_between_marks(page, "| new |", MARKS)
    assert page.read_text() == f"before\n{MARKS[0]}\n| new |\n{MARKS[1]}\nafter\n"
    page.write_text("no marks\n")
    assert not replace_between_marks(page, "| new |", MARKS)
    assert page.read_text() == "no marks\n"


@pytest.mark.parametrize("page", ["README.md", "docs/benchmarks.md"])
def test_the_pages_show_the_table_of_the_kept_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    results_file = ROOT / "benchmarks" / "results" / "engine.md"
    assert MARKS[0] in text
    if results_file.exists():
        assert results_file.read_text(encoding="utf-8").strip() in text
