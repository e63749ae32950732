from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from benchmarks.engine import best, pooled, warm
from benchmarks.plan import CONTESTS, ROOT, Contest, Setting, command, counted
from benchmarks.report import END, START, faster, milliseconds, missed, publish, table

MACHINE = {
    "cpu": "Some CPU",
    "cores": 2,
    "memory_gb": 16,
    "system": "Linux x86_64",
    "python": "3.11.7",
    "packages": {"torch": "2.13.0", "pfl": "0.6.0"},
}


def measured(warm_seconds: float, **facts: Any) -> dict[str, Any]:
    return {"warm": warm_seconds, "cold": 3.0, "setting": "1 process, 1 thread", "peak_bytes": 1e9, **facts}


FOUND = {
    "logistic/tributary": measured(0.005, engine="cohort"),
    "logistic/flower-ray": measured(0.2),
    "logistic/pfl": measured(0.009),
    "memory/tributary": measured(9.0, peak_bytes=2.5e9),
}


def contest(contender: str) -> Contest:
    return next(each for each in CONTESTS if (each.shape, each.contender) == ("logistic", contender))


def test_a_ratio_says_how_many_times_faster_tributary_is() -> None:
    assert faster(contest("flower-ray"), FOUND) == pytest.approx(40)
    assert faster(contest("pfl"), FOUND) == pytest.approx(1.8)
    assert faster(contest("tributary"), FOUND) is None


def test_floors_that_were_not_reached_are_told() -> None:
    assert list(missed(FOUND)) == ["logistic/pfl: 1.80x, the floor is 2x"]
    assert list(missed({"memory/tributary": measured(9.0, peak_bytes=4.5e9)})) == ["memory: 4.50 GB"]


def test_passes_are_pooled_and_the_best_setting_is_shown() -> None:
    def passed(setting: str, rounds: list[float], cold: float) -> dict[str, Any]:
        return {"setting": setting, "rounds": rounds, "cold": cold, "peak_bytes": 7}

    one = pooled([passed("one", [1.0, 2.0], 9.0), passed("one", [6.0], 5.0), passed("one", [4.0, 5.0], 8.0)])
    two = pooled([passed("two", [3.0, 3.5, 9.0], 1.0)])

    assert one == {"setting": "one", "rounds": 5, "passes": 3, "warm": 4.0, "cold": 8.0, "peak_bytes": 7}
    assert best([one, two])["setting"] == "two"
    assert best([one, two])["all"] == {"one": 4.0, "two": 3.5}


def test_the_table_has_a_row_per_contender() -> None:
    lines = table({"machine": MACHINE, "contests": FOUND}).splitlines()
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
    assert [milliseconds(seconds) for seconds in (0.0049, 0.2, 1.5)] == ["4.9 ms", "200.0 ms", "1.50 s"]


def test_the_first_quarter_of_the_rounds_is_not_warm() -> None:
    assert warm([9, 9, 1, 2, 3, 4, 5, 6]) == [1, 2, 3, 4, 5, 6]
    assert warm([9, 1, 2]) == [1, 2]


def test_several_processes_of_pfl_are_started_by_torchrun() -> None:
    words = command(contest("pfl"), Setting(processes=2), 5, Path("out.json"))
    assert words[1:6] == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    assert "benchmarks.contenders.pfl_simulation" in words


def test_settings_read_as_words() -> None:
    assert str(Setting(processes=2)) == "2 processes, 1 thread"
    assert counted(2, "thread") == "2 threads"


def test_a_table_is_put_between_the_marks_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    assert publish(page, "| new |")
    assert page.read_text() == f"before\n{START}\n| new |\n{END}\nafter\n"
    page.write_text("no marks\n")
    assert not publish(page, "| new |")
    assert page.read_text() == "no marks\n"


@pytest.mark.parametrize("page", ["README.md", "docs/benchmarks.md"])
def test_the_pages_show_the_table_of_the_kept_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    kept = ROOT / "benchmarks" / "results" / "engine.md"
    assert START in text
    if kept.exists():
        assert kept.read_text(encoding="utf-8").strip() in text
