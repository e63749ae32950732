from __future__ import annotations

from collections import Counter
from typing import Any

from experiments.charts.styles import NONE, Placed, Placing, Style, placed, uncrowded
from experiments.labels.axes import axis_values


def cells(*names: str) -> dict[str, dict[str, Any]]:
    """`avg/iid/5` is FedAvg on an IID partition with 5 clients."""
    found = {}
    for name in names:
        strategy, partition, clients = name.split("/")
        found[name] = {"strategy": {"name": strategy}, "partition": {"name": partition}, "clients": int(clients)}
    return found


FOUR = cells("fedavg/iid/5", "fedavg/shards/5", "scaffold/iid/5", "scaffold/shards/5")


def test_colour_is_the_strategy_and_the_dash_is_the_rest() -> None:
    assert placed(FOUR, axis_values(FOUR), Placing()) == {
        "fedavg/iid/5": Placed(Style("fedavg · iid", 0, "solid"), "", "", "fedavg"),
        "fedavg/shards/5": Placed(Style("fedavg · shards", 0, "dash"), "", "", "fedavg"),
        "scaffold/iid/5": Placed(Style("scaffold · iid", 2, "solid"), "", "", "scaffold"),
        "scaffold/shards/5": Placed(Style("scaffold · shards", 2, "dash"), "", "", "scaffold"),
    }


def test_a_panel_tells_its_axis_and_the_label_does_not() -> None:
    found = placed(FOUR, axis_values(FOUR), Placing(column="partition"))
    assert found["scaffold/shards/5"] == Placed(Style("scaffold", 2, "solid"), "", "shards", "scaffold")
    assert found["scaffold/shards/5"].whole_label == "scaffold · shards"


def test_a_panel_tells_what_follows_from_its_axis_too() -> None:
    specs = cells("fedavg/iid/20", "fedavg/shards/40", "scaffold/iid/20", "scaffold/shards/40")
    found = placed(specs, axis_values(specs), Placing(column="partition"))
    assert [(place.style.label, place.style.dash) for place in found.values()] == [
        ("fedavg", "solid"),
        ("fedavg", "solid"),
        ("scaffold", "solid"),
        ("scaffold", "solid"),
    ]


def test_brief_labels_leave_out_what_the_colour_decides() -> None:
    specs = cells("fedavg/shards/10", "fedprox/shards/10", "centralised/iid/1")
    labels = {
        brief: [place.style.label for place in placed(specs, axis_values(specs), Placing(brief=brief)).values()]
        for brief in (False, True)
    }
    assert labels[False][2] == "centralised · iid · clients 1"
    assert labels[True] == ["fedavg · shards", "fedprox · shards", "centralised · iid"]


def test_colour_can_be_any_axis() -> None:
    found = placed(FOUR, axis_values(FOUR), Placing(colour="partition", row="strategy"))
    assert found["scaffold/shards/5"] == Placed(Style("shards", 1, "solid"), "scaffold", "", "shards")


def test_the_dash_can_be_one_axis_of_several() -> None:
    six = cells("fedavg/iid/5", "fedavg/iid/9", "fedavg/shards/5", "fedavg/shards/9")
    found = placed(six, axis_values(six), Placing(colour="partition", dash="clients"))
    assert [place.style.dash for place in found.values()] == ["solid", "dash", "solid", "dash"]


def test_one_cell_is_called_by_its_strategy() -> None:
    one = cells("fednova/iid/5")
    assert placed(one, {}, Placing()) == {"fednova/iid/5": Placed(Style("fednova", 3, "solid"), "", "", "fednova")}


def test_a_wall_of_lines_gets_panels_by_itself() -> None:
    many = cells(*(f"{name}/{part}/5" for name in ("fedavg", "fedprox", "scaffold") for part in ("iid", "shards", "x")))
    axes = axis_values(many)
    assert uncrowded(axes, Placing(), len(many)) == Placing(column="partition")
    assert uncrowded(axes, Placing(column=NONE), len(many)) == Placing(column=NONE)
    assert uncrowded(axes, Placing(), 8) == Placing()


def test_a_bigger_wall_gets_rows_too() -> None:
    names = ("fedavg", "fedprox", "scaffold", "fednova")
    many = cells(*(f"{name}/{part}/{n}" for name in names for part in ("iid", "shards", "x") for n in (5, 9)))
    assert uncrowded(axis_values(many), Placing(), 24) == Placing(column="partition")
    assert uncrowded(axis_values(many), Placing(), 30) == Placing(column="partition", row="clients")


def test_lines_that_would_look_the_same_change_colour_for_rows() -> None:
    """Eleven values and six dashes: two optimizers become rows, and the values have the colours."""
    axes = {
        "optimizer": {f"{name}/{n}": name for name in ("sgd", "adamw") for n in range(11)},
        "hybrid.ratio": {f"{name}/{n}": f"ratio {n / 10}" for name in ("sgd", "adamw") for n in range(11)},
    }
    assert uncrowded(axes, Placing(), 22) == Placing(colour="hybrid.ratio", row="optimizer")
    assert uncrowded(axes, Placing(colour="optimizer"), 22) == Placing(colour="optimizer")


def test_no_two_lines_of_a_panel_look_the_same_in_a_grid_of_44() -> None:
    names = [f"{o}/{m}/{n}" for o in ("sgd", "adamw") for m in ("share", "unify") for n in range(11)]
    axes = {
        "optimizer": {name: name.split("/")[0] for name in names},
        "hybrid.method": {name: name.split("/")[1] for name in names},
        "hybrid.ratio": {name: name.split("/")[2] for name in names},
    }
    specs = {name: {"strategy": {"name": "fedavg"}} for name in names}
    found = placed(specs, axes, uncrowded(axes, Placing(), 44))
    looks = Counter((each.row, each.column, each.style.hue, each.style.dash) for each in found.values())
    assert set(looks.values()) == {1}
    assert len({(row, column) for row, column, _, _ in looks}) == 4
