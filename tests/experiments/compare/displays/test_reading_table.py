from __future__ import annotations

from experiments.compare.displays.reading_table import (
    BEST_COLUMNS,
    DisplayTable,
    reading_table,
    stability_columns,
    target_column,
)
from experiments.papers.tables import PaperField
from experiments.presets.preset import Over

AXES = {"strategy": {"a": "fedavg", "b": "fedprox"}, "partition": {"a": "iid", "b": "iid"}}


def seeds(*curves: dict[int, float]) -> dict[int, list[dict[str, dict[int, float]]]]:
    return {seed: [{"accuracy": curve}] for seed, curve in enumerate(curves)}


def shown(table: DisplayTable) -> list[tuple[str, ...]]:
    """A row's words, then each field's text with its standing and note."""
    return [
        (*words, *(" ".join(filter(None, (each.text, each.standing, each.note))) for each in fields))
        for words, fields in table.rows
    ]


def test_the_best_value_and_its_round_are_those_of_the_mean_curve() -> None:
    """The mean curve of a is 0.65 in both rounds, although its seeds have 0.6 and 0.8 at best; of b 0.1 and 0.9."""
    cells = {
        "a": seeds({0: 0.99, 1: 0.5, 2: 0.6}, {1: 0.8, 2: 0.7}),
        "b": seeds({1: 0.1, 2: 0.9}, {1: 0.1, 2: 0.9}),
        "c": {},
    }
    table = reading_table(
        "Best", cells, {"strategy": {"a": "A", "b": "B", "c": "C"}}, BEST_COLUMNS, compared="strategy"
    )

    assert (table.heads, table.columns) == (("strategy",), ("Best accuracy of the mean curve, %", "In round"))
    assert shown(table) == [("A", "65.00", "1"), ("B", "90.00 best", "2")]
    assert table.rows[0][1][0] == PaperField("65.00", numbers=(65.0, None, 1))


def test_the_steadier_one_has_the_smaller_variance() -> None:
    """From round 1 of 6 on (16 of 100): 90 and 92 % four and two times vary by 1.07, 80 and 90 % by 30."""
    steady, shaky = [0.9, 0.92, 0.9, 0.9, 0.92, 0.9], [0.9, 0.8, 0.9, 0.8, 0.9, 0.8]
    cells = {name: seeds(dict(enumerate(curve, start=1))) for name, curve in (("a", shaky), ("b", steady))}
    table = reading_table("Steady", cells, AXES, stability_columns(6), compared="strategy")

    assert table.columns == ("Max, %", "Mean, rounds 1–6, %", "Variance, rounds 1–6, %²")
    assert shown(table) == [
        ("iid", "fedavg", "90.00", "85.00", "30.00"),
        ("iid", "fedprox", "92.00 best", "90.67 best", "1.07 best"),
    ]


def test_fields_that_need_no_words_still_part_rivals() -> None:
    axes = {**AXES, "rounds": {"a": "rounds 5", "b": "rounds 8"}}
    cells = {"a": seeds({1: 0.5}), "b": seeds({1: 0.6})}
    table = reading_table("Best", cells, axes, BEST_COLUMNS, compared="strategy", label_axes=AXES)

    assert table.heads == ("partition", "strategy")
    assert [field.standing for _, fields in table.rows for field in fields] == ["", "", "", ""]


def test_rounds_to_a_target_count_those_that_never_reach_it() -> None:
    """a reaches 80 % in round 2, and never with the other seed; b in rounds 1 and 2."""
    cells = {"a": seeds({1: 0.1, 2: 0.9}, {1: 0.1, 2: 0.2}), "b": seeds({1: 0.8}, {1: 0.1, 2: 0.9})}
    table = reading_table("Rounds", cells, AXES, [target_column(0.8)], compared="strategy")

    assert table.columns == ("Rounds to 80 %",)
    assert [row[-1] for row in shown(table)] == ["2.0 1 missing", "1.5 ± 0.7 best"]


def test_a_hundred_rounds_are_looked_at_as_the_study_did() -> None:
    assert stability_columns(100)[1].reading == Over(take="mean", first=16, last=100)
    assert stability_columns(500)[1].reading == Over(take="mean", first=16, last=100)
    assert stability_columns(50)[2].reading == Over(take="variance", first=8, last=50)
