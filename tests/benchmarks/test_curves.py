"""The table of rows and blocks, and that both are written and read alike."""

from typing import Any

import pytest

from benchmarks.curves.__main__ import MARKS, PAGE, curves_table

RESULTS: dict[str, Any] = {
    "machine": {"cpu": "AMD EPYC", "cores": 2, "busy_before": 0.01},
    "writing": {
        "values": {"rows": 289_440, "blocks": 289_440},
        "bytes": {"rows": 141.4, "blocks": 13.25},
        "speeds": {"a round a transaction": {"rows": 5_000.0, "blocks": 5_500.0}},
    },
    "reading": {"runs": 2_000, "rounds": 200, "seconds": {"last values": {"rows": 0.05, "blocks": 0.02}}},
}


def test_the_table_says_what_each_takes_and_their_ratio() -> None:
    assert curves_table(RESULTS).splitlines() == [
        "| | a row a value | blocks | blocks to rows |",
        "| --- | ---: | ---: | ---: |",
        "| bytes a value, with indexes | 141 | **13.2** | 0.09 |",
        "| values written a second, a round a transaction | 5,000 | 5,500 | **1.10** |",
        "| Compare, last values | 50 ms | 20 ms | **0.40** |",
        "",
        "289,440 values were written by either, and 2,000 runs with 200 rounds were read; on AMD EPYC, 2 cores, others "
        "used 1% of them.",
    ]


def test_the_page_has_a_place_for_the_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(mark in text for mark in MARKS)


@pytest.mark.django_db(transaction=True)
def test_rows_and_blocks_hold_the_same_and_are_read_alike(redis_url: str) -> None:
    from benchmarks.curves.measures import Size, measure_reading, measure_writing
    from experiments.models import CurveBlock, MetricRow, Role, User

    owner = User.objects.create(username="bench", role=Role.ADMIN)
    size = Size(runs=400, rounds=3, writing_runs=2, passes=1, repeats=1)
    writing = measure_writing(owner, size)
    assert writing["values"] == {"rows": 2 * 2 * 4 * 15, "blocks": 2 * 2 * 4 * 15}
    assert (MetricRow.objects.count(), CurveBlock.objects.count()) == (240, 60)
    reading = measure_reading(owner, size)
    assert (reading["runs"], len(reading["seconds"])) == (400, 5)
