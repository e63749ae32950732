from __future__ import annotations

from experiments.charts.pivot import PivotInfo, pivot_info

SPECS = {
    f"{strategy}-{clients}": {"strategy": {"name": strategy}, "clients": clients}
    for strategy in ("fedavg", "fedadam")
    for clients in (5, 10)
}


def test_one_axis_goes_across_and_the_rest_goes_down() -> None:
    assert pivot_info(SPECS, {"fedavg-5": 1, "fedavg-10": 2, "fedadam-10": 4}) == PivotInfo(
        across="clients",
        columns=("clients 5", "clients 10"),
        rows=(("fedavg", (1, 2)), ("fedadam", (None, 4))),
        axes=(("strategy", "strategy"), ("clients", "clients")),
    )


def test_the_axis_across_can_be_chosen() -> None:
    found = pivot_info(SPECS, {"fedavg-5": 1, "fedadam-5": 3}, "strategy")
    assert found.columns == ("fedavg", "fedadam")
    assert found.rows == (("clients 5", (1, 3)), ("clients 10", (None, None)))


def test_one_cell_is_a_table_of_one() -> None:
    found = pivot_info({"a": {"strategy": {"name": "fedavg"}}}, {"a": 7})
    assert (found.columns, found.rows, found.axes) == (("fedavg",), (("", (7,)),), ())
