from __future__ import annotations

from typing import Any

import pytest

from benchmarks.publish import ROOT
from benchmarks.tracking.report import MARKS, missed_floors, tracking_ratios, tracking_table

RESULTS: dict[str, Any] = {
    "machine": {"cpu": "Some CPU", "cores": 2, "memory_gb": 16, "system": "Linux x86_64", "python": "3.11.7"},
    "mlflow": "3.17.2",
    "runs": 200,
    "rounds": 100,
    "values": 15,
    "write": {"Tributary": [0.002, 0.002, 0.003], "MLflow": [0.008, 0.009, 0.009]},
    "read": {
        "Tributary, csv": {"passes": [0.06, 0.06], "bytes": 1},
        "Tributary, parquet": {"passes": [0.02, 0.02], "bytes": 1},
        "MLflow, get-history": {"passes": [2.0, 2.0], "bytes": 1},
        "MLflow, get-history-bulk": {"passes": [0.5, 0.5], "bytes": 1},
    },
}


def test_each_way_of_mlflow_stands_beside_the_fastest_of_ours() -> None:
    assert tracking_table(RESULTS).splitlines()[4:] == [
        "| a round's 15 values are written | Tributary | 2.0 ms |  |  |",
        "|  | MLflow, log-batch | 9.0 ms | **4.5x** faster | 5x |",
        "| 200 curves of 101 points are read | Tributary, csv | 60.0 ms |  |  |",
        "|  | Tributary, parquet | 20.0 ms |  |  |",
        "|  | MLflow, get-history | 2.00 s | **100.0x** faster | 50x |",
        "|  | MLflow, get-history-bulk | 500.0 ms | **25.0x** faster |  |",
    ]
    assert {name: ratio.value for name, ratio in tracking_ratios(RESULTS).items()} == pytest.approx(
        {"write": 4.5, "MLflow, get-history": 100.0, "MLflow, get-history-bulk": 25.0}
    )


def test_what_is_missed_is_named() -> None:
    slower = {**RESULTS["read"], "MLflow, get-history": {"passes": [0.9, 0.9], "bytes": 1}}

    assert list(missed_floors({**RESULTS, "read": slower})) == [
        "writing a round: 4.5x, the floor is 5x",
        "reading, MLflow, get-history: 45.0x, the floor is 50x",
    ]


def test_the_page_has_a_place_for_it() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    assert page.index(MARKS[0]) < page.index(MARKS[1])
