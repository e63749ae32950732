from __future__ import annotations

from typing import Any

from benchmarks.export.__main__ import PAGE
from benchmarks.export.report import MARKS, export_table, missed_floors

MACHINE = {"cpu": "Some CPU", "cores": 2, "memory_gb": 16, "system": "Linux x86_64", "python": "3.11.7"}


def results(csv: float, parquet: float, peak: float) -> dict[str, Any]:
    formats = {"csv": {"seconds": csv, "bytes": 120e6}, "parquet": {"seconds": parquet, "bytes": 8.2e6}}
    totals = {"rows": 1_000_000, "runs": 1_000, "idle_bytes": 115e6, "peak_bytes": peak}
    return {"machine": MACHINE, "formats": formats, **totals}


def test_the_table_tells_speed_floor_and_size() -> None:
    lines = export_table(results(csv=2.0, parquet=0.5, peak=210e6)).splitlines()
    assert "| csv | **500,000** | 200,000 | 120.0 MB |" in lines
    assert "| parquet | **2,000,000** | 1,000,000 | 8.2 MB |" in lines
    assert lines[-1] == (
        "1,000,000 rows of 1,000 runs. Peak memory of the web server over all of them: **210 MB** (limit 300 MB), "
        "115 MB of it before the first."
    )


def test_what_is_missed_is_named() -> None:
    assert list(missed_floors(results(csv=2.0, parquet=0.5, peak=210e6))) == []
    assert list(missed_floors(results(csv=10.0, parquet=2.0, peak=300e6))) == [
        "csv: 100,000 rows a second, the floor is 200,000",
        "parquet: 500,000 rows a second, the floor is 1,000,000",
        "memory: 300 MB",
    ]


def test_the_page_has_a_place_for_it() -> None:
    page = PAGE.read_text()
    assert page.index(MARKS[0]) < page.index(MARKS[1])
