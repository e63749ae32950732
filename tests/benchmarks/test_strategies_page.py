"""docs/strategies.md says what was measured, of every strategy there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.strategies.__main__ import PAGE, RESULTS, read, texts, write
from benchmarks.strategies.measure import BLOCK, SEEDS, built_in, is_current, stale
from benchmarks.strategies.page import difference, interval, marks, table_text

KNOWN = read(RESULTS)


def test_the_page_shows_the_stored_results_and_the_catalog_as_it_is() -> None:
    """Run `python -m benchmarks.strategies` after a change."""
    page = PAGE.read_text(encoding="utf-8")

    for mark, text in texts(KNOWN).items():
        start, end = marks(mark)
        assert f"{start}\n{text}\n{end}" in page


def test_every_strategy_was_measured_with_every_seed() -> None:
    assert stale(KNOWN) == []
    assert list(KNOWN) == built_in()
    assert {len(values) for found in KNOWN.values() for values in found["accuracy"].values()} == {len(SEEDS)}


def test_a_result_of_another_federation_or_version_is_measured_again() -> None:
    found = KNOWN["fedavg"]

    assert is_current(found, "fedavg")
    assert not is_current(None, "fedavg")
    assert not is_current({**found, "version": found["version"] + 1}, "fedavg")
    assert not is_current({**found, "block": {**BLOCK, "rounds": 31}}, "fedavg")


def test_the_interval_is_students() -> None:
    """Of 1, 2, 3, 4, 5: the standard deviation is 1.5811, t is 2.7764 for 4 degrees of freedom."""
    assert interval([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx((3.0, 1.9632), abs=1e-4)


def test_differences_are_taken_seed_by_seed() -> None:
    assert difference([0.2, 0.4, 0.6], [0.1, 0.3, 0.5]) == "+10.0 ± 0.0"


def test_the_best_comes_first() -> None:
    def found(value: float) -> dict[str, object]:
        return {"accuracy": {"10": [value, value], "30": [value, value]}, "bytes": 0}

    rows = table_text({"fedprox": found(0.25), "fedavg": found(0.5)}).splitlines()[2:]

    assert rows == [
        "| [FedAvg](#fedavg) | 50.0 | **50.0** | 50.0 – 50.0 |  | nothing |",
        "| [FedProx](#fedprox) | 25.0 | **25.0** | 25.0 – 25.0 | -25.0 ± 0.0 | nothing |",
    ]


def test_results_are_kept_as_written(tmp_path: Path) -> None:
    write(tmp_path / "results" / "strategies.json", {"fedavg": KNOWN["fedavg"]})

    assert read(tmp_path / "results" / "strategies.json") == {"fedavg": KNOWN["fedavg"]}
