from __future__ import annotations

from benchmarks.publish import ROOT
from benchmarks.study.whole_har import MARKS, accuracy_rows, har_block, printed_rows, whole_har_table
from workers.spec.grid import count_runs

MACHINE = {"cpu": "Some CPU", "cores": 2, "memory_gb": 16, "system": "Linux x86_64", "python": "3.11.7"}
MACHINE |= {"packages": {"torch": "2.13.0"}}


def cell(optimizer: str, method: str, ratio: float, mean: float, std: float | None) -> dict[str, object]:
    place = {"local.optimizer": optimizer, "hybrid.method": method, "hybrid.ratio": ratio}
    return {**place, "mean": mean, "std": std, "n": 20}


CELLS = [
    cell("sgd", "share-disjoint", 0.0, 0.91234, 0.0056),
    cell("sgd", "share-disjoint", 1.0, 0.95, None),
    cell("adamw", "unify", 1.0, 0.94, 0.01),
]
PRINTED = [
    {
        "match": {"local": {"optimizer": {"name": "sgd"}}, "hybrid": {"ratio": 0.0}},
        "reading": {"take": "final"},
        "unit": "percent",
        "published": 91.15,
        "measured": 91.234,
        "low": 90.97,
        "high": 91.5,
    },
    {
        "match": {"local": {"optimizer": {"name": "sgd"}}, "hybrid": {"ratio": 1.0}},
        "reading": {"take": "reach"},
        "unit": "round",
        "published": 2,
        "measured": 1.5,
        "low": None,
        "high": None,
    },
]


def test_it_is_the_published_half_of_the_preset() -> None:
    """11 ratios x 2 methods x 2 optimizers x 20 seeds."""
    assert count_runs(har_block()) == 880


def test_accuracies_stand_by_ratio() -> None:
    assert accuracy_rows(CELLS) == [
        "| accuracy %, ratio | 0 | 1 |",
        "| --- | ---: | ---: |",
        "| sgd, share-disjoint | 91.23 ± 0.56 | 95.00 |",
        "| adamw, unify |  | 94.00 ± 1.00 |",
    ]


def test_printed_numbers_stand_beside_measured_ones() -> None:
    assert printed_rows(PRINTED)[2:] == [
        "| final accuracy % | sgd, 0.0 | 91.15 | 91.23 | 90.97 to 91.50 |",
        "| first round of 90 % | sgd, 1.0 | 2 | 1.50 | – to – |",
    ]


def test_the_time_stands_beside_the_engines_own() -> None:
    har = {"runs": 880, "rounds": 20, "wall": 1650.0, "engine": [1490.0, 1510.0], "own": 0.93}
    text = whole_har_table({"machine": MACHINE, "har": {**har, "accuracy": CELLS, "published": PRINTED}})
    assert (
        "880 runs of 20 rounds took **27.5 min** from the launch to the last end, 1.10 times the engine's own time for "
        "these specs (limit 1.15); the platform took 7.0%."
    ) in text


def test_the_page_has_a_place_for_it() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    assert page.index(MARKS[0]) < page.index(MARKS[1])
