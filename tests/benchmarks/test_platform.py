"""The platform's table says what its results say, and every measure works on small numbers."""

from __future__ import annotations

import pytest

from benchmarks.platform.report import LIMITS, MARKS, missed_limits, platform_table
from benchmarks.publish import ROOT

MACHINE = {"cpu": "Some CPU", "cores": 2, "memory_gb": 16, "system": "Linux x86_64", "python": "3.11.7"}
MEASURES = {
    "launch": {"runs": 1000, "seconds": 0.8},
    "page": {"runs": 10_000, "seconds": 0.2},
    "claim": {"runs": 10_000, "seconds": 0.004},
    "run": {"seconds": 0.06},
    "round": {"seconds": 0.0012},
}


def test_the_table_has_each_measure_beside_its_limit() -> None:
    lines = platform_table({"machine": MACHINE, "measures": MEASURES}).splitlines()
    assert lines[0].startswith("Measured on Some CPU, 2 cores, 16 GB, Linux x86_64, Python 3.11.7, with the embedded")
    assert lines[4:] == [
        "| a study of 1,000 runs is expanded and stored | **800.0 ms** | 2.00 s |",
        "| the queue page with 10,000 queued runs is answered | **200.0 ms** | 150.0 ms |",
        "| a worker takes the next of 10,000 queued runs | **4.0 ms** |  |",
        "| added to the engine's own time, a run | **60.0 ms** | 150.0 ms |",
        "| added to the engine's own time, a round | **1.2 ms** | 3.0 ms |",
    ]


def test_what_is_over_its_limit_is_told() -> None:
    assert list(missed_limits(MEASURES)) == ["page: 200.0 ms, the limit is 150.0 ms"]
    assert LIMITS == {"launch": 2.0, "page": 0.15, "claim": None, "run": 0.15, "round": 0.003}


def test_the_page_shows_the_table_of_the_kept_results() -> None:
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    results_file = ROOT / "benchmarks" / "results" / "platform.md"
    assert all(mark in text for mark in MARKS)
    if results_file.exists():
        assert results_file.read_text(encoding="utf-8").strip() in text


@pytest.mark.django_db(transaction=True)
def test_every_measure_works_on_small_numbers(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for those of a worker, which would have to be started on the test database: `--quick` runs them."""
    from benchmarks.platform import measures

    cost = {"run": {"seconds": 0.05}, "round": {"seconds": 0.001}}
    monkeypatch.setattr(measures, "measure_overhead", lambda owner, sizes: cost)
    results = measures.measure_platform(measures.Sizes.small())
    assert {name: each.get("runs") for name, each in results.items()} == {
        "launch": 40,
        "page": 80,
        "claim": 80,
        "run": None,
        "round": None,
    }
    assert all(each["seconds"] > 0 for each in results.values())
