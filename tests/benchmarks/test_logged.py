from __future__ import annotations

from typing import Any

import pytest

from benchmarks.logged.loops import metrics
from benchmarks.logged.report import MARKS, logged_ratios, logged_table, missed_limits
from benchmarks.publish import ROOT

RESULTS: dict[str, Any] = {
    "machine": {"cpu": "Some CPU", "cores": 2, "memory_gb": 16, "system": "Linux x86_64", "python": "3.11.7"},
    "mlflow": "3.17.2",
    "trackio": "0.43.0",
    "calls": 1000,
    "values": 3,
    "clients": {
        "Tributary": [{"call": 5e-6, "slow_call": 4e-5, "seconds": 0.5}] * 3,
        "MLflow": [{"call": 1e-2, "slow_call": 2e-2, "seconds": 12.0}] * 3,
        "trackio": [{"call": 4e-6, "slow_call": 2e-5, "seconds": 0.3}] * 3,
    },
}


def test_each_client_has_a_line_with_calls_and_values() -> None:
    assert logged_table(RESULTS).splitlines()[4:] == [
        "| Tributary | 5 µs | 40 µs | 6,000 |  |",
        "| MLflow | 10,000 µs | 20,000 µs | 250 | **2000.0x** faster |",
        "| trackio | 4 µs | 20 µs | 10,000 | 0.8x |",
    ]
    ratios = {name: ratio.value for name, ratio in logged_ratios(RESULTS).items()}
    assert ratios == pytest.approx({"MLflow": 2000, "trackio": 0.8})


def test_a_call_that_takes_too_long_is_named() -> None:
    assert list(missed_limits(RESULTS)) == []
    slow = [{"call": 2e-4, "slow_call": 1e-3, "seconds": 1.0}]
    clients = {**RESULTS["clients"], "Tributary": slow}
    assert list(missed_limits({**RESULTS, "clients": clients})) == ["a call of log takes 200 µs, the limit is 100"]


def test_the_loops_log_other_values_each_time() -> None:
    assert metrics(1, 4) == {"accuracy": 0.25, "loss": 0.5, "f1": 0.75}


def test_the_page_has_a_place_for_it() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    assert page.index(MARKS[0]) < page.index(MARKS[1])
