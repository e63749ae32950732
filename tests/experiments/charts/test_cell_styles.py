from __future__ import annotations

from collections import Counter
from typing import Any

from experiments.charts.styles import (
    NO_AXIS,
    CellStyle,
    LineStyle,
    StyleAxes,
    add_panels,
    add_setting_panels,
    cell_styles,
)
from experiments.labels.axes import axis_values


def cells(*names: str) -> dict[str, dict[str, Any]]:
    """`avg/iid/5` is FedAvg on an IID partition with 5 clients."""
    specs = {}
    for name in names:
        strategy, partition, clients = name.split("/")
        specs[name] = {"strategy": {"name": strategy}, "partition": {"name": partition}, "clients": int(clients)}
    return specs


FOUR = cells("fedavg/iid/5", "fedavg/shards/5", "scaffold/iid/5", "scaffold/shards/5")


def test_colour_is_the_strategy_and_the_dash_is_the_rest() -> None:
    assert cell_styles(FOUR, axis_values(FOUR), StyleAxes()) == {
        "fedavg/iid/5": CellStyle(LineStyle("FedAvg · IID", 0, "solid"), "", "", "FedAvg"),
        "fedavg/shards/5": CellStyle(LineStyle("FedAvg · Shards", 0, "dash"), "", "", "FedAvg"),
        "scaffold/iid/5": CellStyle(LineStyle("SCAFFOLD · IID", 2, "solid"), "", "", "SCAFFOLD"),
        "scaffold/shards/5": CellStyle(LineStyle("SCAFFOLD · Shards", 2, "dash"), "", "", "SCAFFOLD"),
    }


def test_a_panel_tells_its_axis_and_the_label_does_not() -> None:
    styles = cell_styles(FOUR, axis_values(FOUR), StyleAxes(column="partition"))
    assert styles["scaffold/shards/5"] == CellStyle(LineStyle("SCAFFOLD", 2, "solid"), "", "Shards", "SCAFFOLD", (0, 1))
    assert styles["scaffold/shards/5"].whole_label == "SCAFFOLD · Shards"


def test_a_panel_tells_what_follows_from_its_axis_too() -> None:
    specs = cells("fedavg/iid/20", "fedavg/shards/40", "scaffold/iid/20", "scaffold/shards/40")
    styles = cell_styles(specs, axis_values(specs), StyleAxes(column="partition"))
    assert [(style.line.label, style.line.dash) for style in styles.values()] == [
        ("FedAvg", "solid"),
        ("FedAvg", "solid"),
        ("SCAFFOLD", "solid"),
        ("SCAFFOLD", "solid"),
    ]


def test_brief_labels_leave_out_what_the_colour_decides() -> None:
    specs = cells("fedavg/shards/10", "fedprox/shards/10", "centralised/iid/1")
    labels = {
        brief: [style.line.label for style in cell_styles(specs, axis_values(specs), StyleAxes(brief=brief)).values()]
        for brief in (False, True)
    }
    assert labels[False][2] == "Centralised · IID · 1 client"
    assert labels[True] == ["FedAvg · Shards", "FedProx · Shards", "Centralised · IID"]


def test_colour_can_be_any_axis() -> None:
    styles = cell_styles(FOUR, axis_values(FOUR), StyleAxes(colour="partition", row="strategy"))
    assert styles["scaffold/shards/5"] == CellStyle(LineStyle("Shards", 1, "solid"), "SCAFFOLD", "", "Shards", (1, 0))


def test_the_dash_can_be_one_axis_of_several() -> None:
    six = cells("fedavg/iid/5", "fedavg/iid/9", "fedavg/shards/5", "fedavg/shards/9")
    styles = cell_styles(six, axis_values(six), StyleAxes(colour="partition", dash="clients"))
    assert [style.line.dash for style in styles.values()] == ["solid", "dash", "solid", "dash"]


def test_one_cell_is_called_by_its_strategy() -> None:
    one = cells("fednova/iid/5")
    assert cell_styles(one, {}, StyleAxes()) == {
        "fednova/iid/5": CellStyle(LineStyle("FedNova", 3, "solid"), "", "", "FedNova")
    }


def test_a_wall_of_lines_gets_panels_by_itself() -> None:
    many = cells(*(f"{name}/{part}/5" for name in ("fedavg", "fedprox", "scaffold") for part in ("iid", "shards", "x")))
    axes = axis_values(many)
    assert add_panels(axes, StyleAxes(), len(many)) == StyleAxes(column="partition")
    assert add_panels(axes, StyleAxes(column=NO_AXIS), len(many)) == StyleAxes(column=NO_AXIS)
    assert add_panels(axes, StyleAxes(), 6) == StyleAxes()


def test_a_bigger_wall_gets_rows_too() -> None:
    names = ("fedavg", "fedprox", "scaffold", "fednova")
    many = cells(*(f"{name}/{part}/{n}" for name in names for part in ("iid", "shards", "x") for n in (5, 9)))
    assert add_panels(axis_values(many), StyleAxes(), 24) == StyleAxes(column="clients", row="partition")


def test_many_values_become_panels_and_few_share_them() -> None:
    """Two optimizers in each of eleven panels, not eleven ratios in each of two."""
    axes = {
        "optimizer": {f"{name}/{n}": name for name in ("sgd", "adamw") for n in range(11)},
        "hybrid.ratio": {f"{name}/{n}": f"ratio {n / 10}" for name in ("sgd", "adamw") for n in range(11)},
    }
    assert add_panels(axes, StyleAxes(), 22) == StyleAxes(column="hybrid.ratio")


def test_charts_without_chosen_panels_count_lines_not_points() -> None:
    """Three points a line: two methods in three settings are six lines, three methods nine."""

    def axes(*methods: str) -> dict[str, dict[str, str]]:
        names = [f"{name}/{part}/{n}" for name in methods for part in ("iid", "shards", "x") for n in (5, 9, 12)]
        words = {name: name.split("/") for name in names}
        return {
            axis: {name: words[name][place] for name in names} for place, axis in ((0, "strategy"), (1, "partition"))
        }

    chosen = StyleAxes(colour="strategy", row="partition")
    assert add_setting_panels(axes("a", "b"), chosen) == StyleAxes(colour="strategy")
    assert add_setting_panels(axes("a", "b", "c"), chosen) == StyleAxes(colour="strategy", column="partition")
    # Where nothing but what is compared varies, rivals stay together; data sets never do.
    only = {"strategy": {name: name for name in "abcdefgh"}}
    assert add_setting_panels(only, StyleAxes()) == StyleAxes()
    data = {"dataset": {"x": "Digits", "y": "UCI HAR"}}
    assert add_setting_panels(data, StyleAxes()) == StyleAxes(column="dataset")


def test_seven_strategies_and_nothing_else_have_a_panel_each() -> None:
    seven = {name: {"strategy": {"name": name}} for name in ("a", "b", "c", "d", "e", "f", "g")}
    axes = axis_values(seven)
    styles = cell_styles(seven, axes, add_panels(axes, StyleAxes(), 7))
    assert [style.column for style in styles.values()] == list("abcdefg")
    assert [style.line.label for style in styles.values()] == list("abcdefg")
    assert styles["c"].whole_label == "c"


def test_no_two_lines_of_a_panel_look_the_same_in_a_grid_of_44() -> None:
    names = [f"{o}/{m}/{n}" for o in ("sgd", "adamw") for m in ("share", "unify") for n in range(11)]
    axes = {
        "optimizer": {name: name.split("/")[0] for name in names},
        "hybrid.method": {name: name.split("/")[1] for name in names},
        "hybrid.ratio": {name: name.split("/")[2] for name in names},
    }
    specs = {name: {"strategy": {"name": "fedavg"}} for name in names}
    styles = cell_styles(specs, axes, add_panels(axes, StyleAxes(), 44))
    looks = Counter((each.row, each.column, each.line.hue, each.line.dash) for each in styles.values())
    assert set(looks.values()) == {1}
    assert len({(row, column) for row, column, _, _ in looks}) == 11
