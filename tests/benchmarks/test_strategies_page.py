"""docs/strategies.md says what was measured, of every strategy there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.strategies.__main__ import PAGE, RESULTS, page_texts, read_results, write_results
from benchmarks.strategies.measure import BLOCK, SEEDS, built_in_strategies, is_current, stale_strategies
from benchmarks.strategies.page import difference_text, mean_and_half_width, strategy_marks, table_text

RESULTS_BY_NAME = read_results(RESULTS)


def test_the_page_shows_the_stored_results_and_the_catalog_as_it_is() -> None:
    """Run `python -m benchmarks.strategies` after a change."""
    page = PAGE.read_text(encoding="utf-8")

    for mark, text in page_texts(RESULTS_BY_NAME).items():
        start, end = strategy_marks(mark)
        assert f"{start}\n{text}\n{end}" in page


def test_every_strategy_was_measured_with_every_seed() -> None:
    assert stale_strategies(RESULTS_BY_NAME) == []
    assert list(RESULTS_BY_NAME) == built_in_strategies()
    assert {len(values) for result in RESULTS_BY_NAME.values() for values in result["accuracy"].values()} == {
        len(SEEDS)
    }


def test_a_result_of_another_federation_or_version_is_measured_again() -> None:
    result = RESULTS_BY_NAME["fedavg"]

    assert is_current(result, "fedavg")
    assert not is_current(None, "fedavg")
    assert not is_current({**result, "version": result["version"] + 1}, "fedavg")
    assert not is_current({**result, "block": {**BLOCK, "rounds": 31}}, "fedavg")


def test_the_interval_is_students() -> None:
    """Of 1, 2, 3, 4, 5: the standard deviation is 1.5811, t is 2.7764 for 4 degrees of freedom."""
    assert mean_and_half_width([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx((3.0, 1.9632), abs=1e-4)


def test_differences_are_taken_seed_by_seed() -> None:
    assert difference_text([0.2, 0.4, 0.6], [0.1, 0.3, 0.5]) == "+10.0 ± 0.0"


def test_the_best_comes_first() -> None:
    def result(value: float) -> dict[str, object]:
        return {"accuracy": {"10": [value, value], "30": [value, value]}, "bytes": 0}

    rows = table_text({"fedprox": result(0.25), "fedavg": result(0.5)}).splitlines()[2:]

    assert rows == [
        "| [FedAvg](#fedavg) | 50.0 | **50.0** | 50.0 – 50.0 |  | nothing |",
        "| [FedProx](#fedprox) | 25.0 | **25.0** | 25.0 – 25.0 | -25.0 ± 0.0 | nothing |",
    ]


def test_results_are_kept_as_written(tmp_path: Path) -> None:
    write_results(tmp_path / "results" / "strategies.json", {"fedavg": RESULTS_BY_NAME["fedavg"]})

    assert read_results(tmp_path / "results" / "strategies.json") == {"fedavg": RESULTS_BY_NAME["fedavg"]}
