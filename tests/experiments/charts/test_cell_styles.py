from __future__ import annotations

from collections import Counter
from typing import Any

from experiments.charts.styles import NO_AXIS, CellStyle, LineStyle, StyleAxes, add_panels, cell_styles
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
        "fedavg/iid/5": CellStyle(LineStyle("fedavg · iid", 0, "solid"), "", "", "fedavg"),
        "fedavg/shards/5": CellStyle(LineStyle("fedavg · shards", 0, "dash"), "", "", "fedavg"),
        "scaffold/iid/5": CellStyle(LineStyle("scaffold · iid", 2, "solid"), "", "", "scaffold"),
        "scaffold/shards/5": CellStyle(LineStyle("scaffold · shards", 2, "dash"), "", "", "scaffold"),
    }


def test_a_panel_tells_its_axis_and_the_label_does_not() -> None:
    styles = cell_styles(FOUR, axis_values(FOUR), StyleAxes(column="partition"))
    assert styles["scaffold/shards/5"] == CellStyle(LineStyle("scaffold", 2, "solid"), "", "shards", "scaffold")
    assert styles["scaffold/shards/5"].whole_label == "scaffold · shards"


def test_a_panel_tells_what_follows_from_its_axis_too() -> None:
    specs = cells("fedavg/iid/20", "fedavg/shards/40", "scaffold/iid/20", "scaffold/shards/40")
    styles = cell_styles(specs, axis_values(specs), StyleAxes(column="partition"))
    assert [(style.line.label, style.line.dash) for style in styles.values()] == [
        ("fedavg", "solid"),
        ("fedavg", "solid"),
        ("scaffold", "solid"),
        ("scaffold", "solid"),
    ]


def test_brief_labels_leave_out_what_the_colour_decides() -> None:
    specs = cells("fedavg/shards/10", "fedprox/shards/10", "centralised/iid/1")
    labels = {
        brief: [style.line.label for style in cell_styles(specs, axis_values(specs), StyleAxes(brief=brief)).values()]
        for brief in (False, True)
    }
    assert labels[False][2] == "centralised · iid · clients 1"
    assert labels[True] == ["fedavg · shards", "fedprox · shards", "centralised · iid"]


def test_colour_can_be_any_axis() -> None:
    styles = cell_styles(FOUR, axis_values(FOUR), StyleAxes(colour="partition", row="strategy"))
    assert styles["scaffold/shards/5"] == CellStyle(LineStyle("shards", 1, "solid"), "scaffold", "", "shards")


def test_the_dash_can_be_one_axis_of_several() -> None:
    six = cells("fedavg/iid/5", "fedavg/iid/9", "fedavg/shards/5", "fedavg/shards/9")
    styles = cell_styles(six, axis_values(six), StyleAxes(colour="partition", dash="clients"))
    assert [style.line.dash for style in styles.values()] == ["solid", "dash", "solid", "dash"]


def test_one_cell_is_called_by_its_strategy() -> None:
    one = cells("fednova/iid/5")
    assert cell_styles(one, {}, StyleAxes()) == {
        "fednova/iid/5": CellStyle(LineStyle("fednova", 3, "solid"), "", "", "fednova")
    }


def test_a_wall_of_lines_gets_panels_by_itself() -> None:
    many = cells(*(f"{name}/{part}/5" for name in ("fedavg", "fedprox", "scaffold") for part in ("iid", "shards", "x")))
    axes = axis_values(many)
    assert add_panels(axes, StyleAxes(), len(many)) == StyleAxes(column="partition")
    assert add_panels(axes, StyleAxes(column=NO_AXIS), len(many)) == StyleAxes(column=NO_AXIS)
    assert add_panels(axes, StyleAxes(), 8) == StyleAxes()


def test_a_bigger_wall_gets_rows_too() -> None:
    names = ("fedavg", "fedprox", "scaffold", "fednova")
    many = cells(*(f"{name}/{part}/{n}" for name in names for part in ("iid", "shards", "x") for n in (5, 9)))
    assert add_panels(axis_values(many), StyleAxes(), 24) == StyleAxes(column="partition")
    assert add_panels(axis_values(many), StyleAxes(), 30) == StyleAxes(column="partition", row="clients")


def test_lines_that_would_look_the_same_change_colour_for_rows() -> None:
    """Eleven values and six dashes: two optimizers become rows, and the values have the colours."""
    axes = {
        "optimizer": {f"{name}/{n}": name for name in ("sgd", "adamw") for n in range(11)},
        "hybrid.ratio": {f"{name}/{n}": f"ratio {n / 10}" for name in ("sgd", "adamw") for n in range(11)},
    }
    assert add_panels(axes, StyleAxes(), 22) == StyleAxes(colour="hybrid.ratio", row="optimizer")
    assert add_panels(axes, StyleAxes(colour="optimizer"), 22) == StyleAxes(colour="optimizer")


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
    assert len({(row, column) for row, column, _, _ in looks}) == 4
