from __future__ import annotations

import pytest

from experiments.compare.charts.bars import model_sizes_info
from experiments.compare.displays.tables import (
    Grouping,
    convergence_table,
    find_groups,
    groups_table,
    members_table,
    number_spans,
)
from experiments.papers.tables import PaperField
from workers.spec import parse_run

FOUND = {
    "groups": [{"members": [0, 2], "classes": ["0", "1"]}, {"members": [1], "classes": ["2"]}],
    "purity": 1.0,
    "class_sets": 2,
    "noise": [1],
    "eps": 0.25,
}


def test_groups_are_told_with_their_sizes() -> None:
    assert find_groups({"confusion": [[1]], "athena": FOUND}) == FOUND
    assert find_groups({"confusion": [[1]]}) is None
    table = groups_table([Grouping("athena", 3, FOUND)])
    assert table.rows == ((("athena", "3"), tuple(map(PaperField, ("2", "2, 1", "1", "2", "1", "0.25")))),)
    members = members_table([Grouping("athena", 3, FOUND)])
    assert members.rows[1] == (("athena", "3", "2"), (PaperField("1"), PaperField("2")))
    assert number_spans([3, 0, 1, 2, 7, 9, 10]) == "0–3, 7, 9–10"


def test_detectors_count_once_for_each_class() -> None:
    """Logistic regression on 64 values: two classes have 2 x 65 parameters of 4 bytes, ten have 650."""
    fields = {"dataset": {"name": "digits"}, "model": {"name": "logistic"}}
    specs = {name: parse_run({**fields, "strategy": {"name": name}}).model_dump() for name in ("athena", "fedavg")}
    bars = {bar.name: bar.mean for bar in model_sizes_info(specs).parts[0].bars}
    assert bars == {
        "logistic on digits, one detector": pytest.approx(0.52),
        "logistic on digits, all 10 detectors": pytest.approx(5.2),
        "logistic on digits": pytest.approx(2.6),
    }


def test_bytes_until_convergence_are_told_on_average_and_at_worst() -> None:
    """Two seeds settle in rounds 2 and 4 (mean 3, std 1.4); a round sends 2 MB."""
    early = {"accuracy": {1: 0.5, 2: 0.5, 3: 0.5, 4: 0.5}, "bytes_up": dict.fromkeys(range(1, 5), 2e6)}
    late = {"accuracy": {1: 0.1, 2: 0.2, 3: 0.3, 4: 0.3}, "bytes_up": dict.fromkeys(range(1, 5), 2e6)}
    axes = {"strategy": {"a": "fedavg", "b": "fedprox"}}
    never = {"accuracy": {1: 0.1, 2: 0.2}, "bytes_up": {1: 1.0}}
    table = convergence_table({"a": {0: [early], 1: [late]}, "b": {0: [never]}}, axes, compared="strategy")

    assert table.rows[0] == (("fedavg",), tuple(map(PaperField, ("3.0 ± 1.4", "2.00", "6.00", "8.83"))))
    assert table.rows[1][1][0] == PaperField("not yet")
