from __future__ import annotations

from typing import Any

import pytest

from experiments.charts.chart import csv_text
from experiments.compare.charts.pivot_table import (
    PivotTable,
    across_axes,
    pivot_caption,
    pivot_data,
    pivot_paper_table,
    pivot_table,
)
from experiments.compare.charts.values import ValueChoice, value_label
from experiments.labels.metrics import metric_label
from experiments.papers.tables import table_markdown
from experiments.statistics.over_seeds import Sample

CELLS = ["avg-5", "avg-9", "prox-5", "prox-9"]
AXES = {
    "strategy": {"avg-5": "fedavg", "avg-9": "fedavg", "prox-5": "fedprox", "prox-9": "fedprox"},
    "clients": {"avg-5": "clients 5", "avg-9": "clients 9", "prox-5": "clients 5", "prox-9": "clients 9"},
}
VALUES = {
    ("avg-5", 0): Sample({0: 0.9, 1: 0.92, 2: 0.91}),
    ("avg-9", 0): Sample({0: 0.5, 1: 0.5}),
    ("prox-5", 0): Sample({0: 0.91, 1: 0.9, 2: 0.905}),
    ("prox-9", 0): Sample({0: 0.75}, frozenset({1})),
}


LAST = ValueChoice()


def table(values: Any = VALUES, choice: ValueChoice = LAST, **options: Any) -> PivotTable:
    label = value_label(metric_label("accuracy"), choice)
    return pivot_table(CELLS, AXES, values, label, choice, **{"compared": "strategy", **options})


def texts(table: PivotTable) -> list[list[tuple[float | None, str] | None]]:
    return [[(e.sample.mean, e.standing) if e else None for e in entries] for _, entries in table.rows]


def test_what_is_compared_goes_down_and_the_other_axis_across() -> None:
    pivot = table()
    assert (pivot.down, pivot.across) == (("strategy",), ("clients",))
    assert pivot.head == (("clients 5",), ("clients 9",))
    assert [row for row, _ in pivot.rows] == [("fedavg",), ("fedprox",)]
    assert texts(pivot) == [
        [(pytest.approx(0.91), "best"), (0.5, "best")],
        [(pytest.approx(0.905), "tie"), (0.75, "")],
    ]


def test_the_axis_across_can_be_chosen_or_all_can_go_across() -> None:
    assert table(across=["strategy"]).head == (("fedavg",), ("fedprox",))
    both = table(across=["strategy", "clients"])
    assert both.down == ()
    assert both.head_levels == [
        [("fedavg", 2), ("fedprox", 2)],
        [("clients 5", 1), ("clients 9", 1), ("clients 5", 1), ("clients 9", 1)],
    ]


def test_an_axis_that_follows_from_the_others_does_not_go_across() -> None:
    """Each data set has its number of rounds: with rounds across, half of the table would be empty."""
    partitions = {"a": "IID", "b": "Shards", "c": "IID", "d": "Shards"}
    sets = {"a": "Digits", "b": "Digits", "c": "UCI HAR", "d": "UCI HAR"}
    rounds = {"a": "15 rounds", "b": "15 rounds", "c": "400 rounds", "d": "400 rounds"}
    axes = {"dataset": sets, "partition": partitions, "strategy": dict.fromkeys("abcd", "FedAvg"), "rounds": rounds}
    assert across_axes(axes, (), "strategy", LAST) == ("partition",)
    assert across_axes({"dataset": sets, "rounds": rounds}, (), "dataset", LAST) == ("rounds",)


def test_columns_of_one_word_stand_side_by_side_whatever_the_order_of_cells() -> None:
    pivot = table(across=["clients", "strategy"])
    assert pivot.head_levels[0] == [("clients 5", 2), ("clients 9", 2)]


def test_rounds_asked_for_are_columns() -> None:
    values = {("avg-5", 10): Sample({0: 0.5}), ("prox-5", 10): Sample({0: 0.75}), ("avg-5", 20): Sample({0: 0.8})}
    pivot = table(values, ValueChoice("at", at=(10, 20)))
    assert pivot.head == (("round 10",), ("round 20",))
    assert [row for row, _ in pivot.rows] == [
        *(("clients 5", "fedavg"), ("clients 5", "fedprox"), ("clients 9", "fedavg"), ("clients 9", "fedprox"))
    ]
    assert texts(pivot)[0] == [(0.5, ""), (0.8, "")]
    assert texts(pivot)[1] == [(0.75, "best"), None]


def test_its_caption_says_what_the_marks_mean_and_what_is_missing() -> None:
    assert pivot_caption(table()) == (
        "mean ± std over seeds (n=1–3); bold: best mean among cells that differ only in strategy; "
        "†: not shown to differ from the best (the 95 % interval of the paired difference includes 0, n=1–3); "
        "1 seed diverged (not finite): not in the means, and a cell that lost seeds is never called the best"
    )


def test_two_seeds_are_too_few_to_say_that_no_difference_was_found() -> None:
    two = {key: Sample({seed: value for seed, value in each.seeds.items() if seed < 2}) for key, each in VALUES.items()}
    assert texts(table(two))[1][0] == (pytest.approx(0.905), "")
    assert "with fewer than 3 seeds nothing is said of the difference to it" in pivot_caption(table(two))


def test_as_markdown() -> None:
    assert table_markdown(pivot_paper_table(table()), "").splitlines()[:4] == [
        "| Strategy | clients 5 | clients 9 |",
        "| --- | ---: | ---: |",
        "| fedavg | **91.00 ± 1.00** | **50.00 ± 0.00** |",
        "| fedprox | 90.50 ± 0.50 † | 75.00 (n=1, 1 diverged) |",
    ]


def test_as_tidy_rows_in_stored_units() -> None:
    pivot = pivot_data(CELLS, AXES, VALUES, compared="strategy", higher=True)
    assert pivot.columns == ("cell", "strategy", "clients", "column", "mean", "std", "n", "lost", "missed", "standing")
    assert pivot.rows[0] == (
        *("avg-5", "fedavg", "clients 5", ""),
        *(pytest.approx(0.91), pytest.approx(0.01), 3, 0, 0, "best"),
    )
    assert csv_text(pivot).splitlines()[4] == "prox-9,fedprox,clients 9,,0.75,,1,1,0,"


def test_one_cell_is_a_table_of_one() -> None:
    label = metric_label("loss")
    pivot = pivot_table(["a"], {}, {("a", 0): Sample({0: 1.5})}, label, ValueChoice(), compared="")
    assert (pivot.down, pivot.head, pivot.head_levels) == ((), ((),), [])
    assert table_markdown(pivot_paper_table(pivot), "").splitlines()[2] == "|  | 1.5000 |"
