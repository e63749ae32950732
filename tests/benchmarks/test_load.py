"""The load's tables say what its results say, and a small lab is filled with what they claim."""

from __future__ import annotations

import pytest

from benchmarks.load.report import MARKS, load_table, missed_targets
from benchmarks.load.viewers import print_results
from benchmarks.publish import ROOT

FACTS = {"cpu": "Some CPU", "cores": 2, "memory_gb": 16, "system": "Linux x86_64", "python": "3.11.7"}
RESULTS = {
    "machine": {**FACTS, "busy_before": 0.01},
    "runs": 10_000,
    "studies": 1_000,
    "values": 48_221_910,
    "fill_seconds": 312.4,
    "bytes_a_value": 118.6,
    "seconds": 300.0,
    "people": 20,
    "workers": 8,
    "rounds_per_second": 50.0,
    "written": {
        "rounds_per_second": 396.2,
        "claims": 238,
        "connections": 1,
        "claim_p95": 0.061,
        "runs_by_study": {"1001": 119, "1002": 118},
        "errors": [],
    },
    "memory": {"at_first": 300.0, "at_last": 345.0},
    "addresses": {
        "/": {"answers": 61, "p50": 0.08, "p95": 0.21, "errors": 0},
        "/queue": {"answers": 44, "p50": 0.2, "p95": 0.45, "errors": 2},
    },
}


def test_the_table_has_every_page_and_what_the_workers_did() -> None:
    assert load_table(RESULTS).splitlines() == [
        "Measured on Some CPU, 2 cores, 16 GB, Linux x86_64, Python 3.11.7; others used 1% of it before.",
        "",
        "- The lab: 48,221,910 values in 1,000 studies, 10,000 runs in the largest; filled in 312 s, "
        "**119 bytes a value** with indexes.",
        "- For 300 s 20 people read, while 8 workers wrote **396** of 400 rounds a second over 1 connection; "
        "0 of them failed.",
        "- 238 claims, p95 **61 ms**; runs taken of two people's studies: 119 and 118.",
        "- The web server had 300 MB in the first tenth of that time and 345 MB in the last.",
        "",
        "| page or route | answers | p50 | p95 | errors |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| `/` | 61 | 80 ms | **210 ms** | 0 |",
        "| `/queue` | 44 | 200 ms | **450 ms** | 2 |",
    ]


def test_what_is_missed_is_told() -> None:
    assert list(missed_targets(RESULTS)) == [
        "/queue: p95 450 ms, the target is 400 ms",
        "/queue: 2 of 44 answers were errors",
        "claims: p95 61 ms, the target is 50 ms",
        "memory: from 300 to 345 MB",
    ]


@pytest.mark.django_db(transaction=True)
def test_a_small_lab_has_as_many_values_as_it_says(redis_url: str) -> None:
    from benchmarks.load.lab import METRICS, Size, bytes_a_value, fill_lab
    from experiments.models import Metric, Run, Study

    size = Size(runs=25, rounds=4, studies=3)
    people, large = fill_lab(size)

    assert len(METRICS) == 15
    assert size.values == Metric.objects.count() == (25 + 2 * 6) * 5 * 15
    assert (len(people), Study.objects.count(), Run.objects.filter(state="done").count()) == (20, 3, 37)
    assert large.runs.count() == 25
    # Short curves: a row for every five values.
    assert 20 < bytes_a_value(size.values) < 100


def test_the_page_has_a_place_for_the_table() -> None:
    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert all(mark in text for mark in MARKS)


def test_open_pages_are_told_with_what_their_neighbours_waited_for(capsys: pytest.CaptureFixture[str]) -> None:
    print_results(
        {
            "pages": 500,
            "counts": {"open": 499, "events": 12_000, "parts": 3_100, "errors": 1},
            "probes": {"/": [0.1, 0.2, 0.3], "/queue": [0.1, 0.2, 0.4]},
            "memory": 181.6,
            "cores": 0.75,
            "written": {"rounds_per_second": 9.8},
        }
    )
    assert capsys.readouterr().out.splitlines() == [
        "",
        "499 of 500 pages stayed open on 1 web process(es); they heard 12,000 events and asked for 3,100 parts; "
        "1 errors. Workers wrote 10 rounds a second. The web server had at most 182 MB and used 0.75 cores.",
        "",
        "| page | answers | p50 | p95 |",
        "| --- | ---: | ---: | ---: |",
        "| `/` | 3 | 200 ms | 300 ms |",
        "| `/queue` | 3 | 200 ms | 400 ms (target 300 ms) |",
    ]
