"""What each table tells, in a lab written by hand."""

import math
from typing import Any

import pytest

from experiments.export.exporter import ExportRequest, build_table
from experiments.models import Round, Run, RunState, Study, User
from tests.experiments.lab import NOON, launched, moved, record, runs_in_order

DIRICHLET = {"name": "label-dirichlet", "alpha": 0.5}


def rows_of(table: str, study: Study, *metrics: str) -> list[dict[str, Any]]:
    exported = build_table(ExportRequest(table, filters={"study": [str(study.pk)]}, metrics=metrics))
    return [row for batch in exported.batches for row in batch.to_pylist()]


def test_each_curve_comes_whole_and_in_order(owner: User) -> None:
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[3])
    (run,) = runs_in_order(study)
    record(run, {"loss": [3.0, 2.0, 1.0], "accuracy": [0.0, 0.5]})
    assert [(row["metric"], row["round"], row["value"]) for row in rows_of("metrics", study)] == [
        ("accuracy", 0, 0.0),
        ("accuracy", 1, 0.5),
        ("loss", 0, 3.0),
        ("loss", 1, 2.0),
        ("loss", 2, 1.0),
    ]


def test_long_curves_travel_in_blocks(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.export.tables.metrics.PIECE", 100)
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[3], rounds=150)
    record(runs_in_order(study)[0], {"loss": [float(number) for number in range(151)], "accuracy": [1.0] * 151})
    exported = build_table(ExportRequest(filters={"study": [str(study.pk)]}))
    sizes, values = [], []
    for batch in exported.batches:
        sizes.append(batch.num_rows)
        values += batch.column("value").to_pylist()
    assert sizes == [64, 64, 23, 64, 64, 23]
    assert values == [1.0] * 151 + [float(number) for number in range(151)]


def test_columns_are_the_fields_that_differ_with_the_types_they_have(owner: User) -> None:
    strategies = [{"name": "fedavg"}, {"name": "fedprox", "mu": 0.1}, {"name": "scaffold", "option": [1, 2]}]
    study = launched(owner, strategy=strategies, partition=[{"name": "iid"}, DIRICHLET], seeds=[3])
    for run in runs_in_order(study):
        record(run, {"loss": [1.0]})
    rows = rows_of("metrics", study)
    fields = [{name: value for name, value in row.items() if "." in name or name == "strategy"} for row in rows]
    values = [
        (each["strategy"], each["strategy.mu"], each["strategy.option"], each["partition.alpha"]) for each in fields
    ]
    assert values == [
        ("fedavg", None, None, None),
        ("fedavg", None, None, 0.5),
        ("fedprox", 0.1, None, None),
        ("fedprox", 0.1, None, 0.5),
        ("scaffold", None, 1, None),
        ("scaffold", None, 1, 0.5),
        ("scaffold", None, 2, None),
        ("scaffold", None, 2, 0.5),
    ]
    assert "seed" in rows[0]
    assert "rounds" not in rows[0]


def test_clients_tell_who_took_part_and_keep_odd_numbers(owner: User) -> None:
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[3])
    (run,) = runs_in_order(study)
    numbers = {"10": {"samples": 7, "loss": "NaN"}, "2": {"samples": 5, "loss": 0.5}, "-1": {"samples": 3}}
    Round.objects.create(run=run, round=0, cohort=[], clients={})
    Round.objects.create(run=run, round=1, cohort=[-1, 10], clients=numbers)
    values = [
        (row["round"], row["client"], row["took_part"], row["metric"], row["value"])
        for row in rows_of("clients", study)
    ]
    assert [row[:4] for row in values] == [
        (1, -1, True, "samples"),
        (1, 2, False, "loss"),
        (1, 2, False, "samples"),
        (1, 10, True, "loss"),
        (1, 10, True, "samples"),
    ]
    assert [repr(row[4]) for row in values] == ["3.0", "0.5", "5.0", "nan", "7.0"]
    assert [row["value"] for row in rows_of("clients", study, "samples")] == [3.0, 5.0, 7.0]


def test_summaries_are_over_seeds_without_what_is_not_finite(owner: User) -> None:
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[0, 1, 2])
    for run, loss in zip(runs_in_order(study), [1.0, 3.0, math.inf], strict=True):
        record(run, {"loss": [loss]})
    (row,) = rows_of("summaries", study)
    assert "run" not in row
    assert (row["study"], row["round"], row["metric"]) == (study.pk, 0, "loss")
    assert (row["mean"], row["std"], row["min"], row["max"]) == (2.0, math.sqrt(2), 1.0, 3.0)
    assert (row["n"], row["not_finite"]) == (2, 1)


def test_a_single_seed_has_no_spread(owner: User) -> None:
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[0])
    record(runs_in_order(study)[0], {"loss": [1.0]})
    assert [(row["mean"], row["std"]) for row in rows_of("summaries", study)] == [(1.0, None)]


def test_specs_have_every_field_whether_it_varies_or_not(owner: User) -> None:
    study = launched(owner, seeds=[4])
    first, second = runs_in_order(study)
    moved(second, RunState.FAILED, "Out of memory")
    rows = {row["run"]: row for row in rows_of("specs", study)}
    assert (rows[first.pk]["state"], rows[first.pk]["started"], rows[first.pk]["strategy.mu"]) == ("queued", None, None)
    failed = rows[second.pk]
    assert (failed["state"], failed["reason"], failed["started"]) == ("failed", "Out of memory", NOON)
    assert (failed["strategy"], failed["strategy.mu"], failed["rounds"], failed["dataset"]) == (
        "fedprox",
        0.1,
        2,
        "digits",
    )
    assert (failed["local.optimizer"], failed["local.optimizer.lr"], failed["cohort"]) == ("sgd", 0.01, None)


def test_partitions_tell_what_each_client_holds(owner: User) -> None:
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[4], clients=3)
    rows = rows_of("partitions", study)
    samples = {row["client"]: row["value"] for row in rows if row["metric"] == "samples"}
    by_class = [row["value"] for row in rows if row["client"] == 0 and row["metric"].startswith("samples.")]
    assert set(samples) == {0, 1, 2}
    assert (len(by_class), sum(by_class)) == (10, samples[0])
    assert [row["metric"] for row in rows if row["client"] is None] == ["mean_entropy", "distance"]


def test_a_partition_that_cannot_be_drawn_says_why(owner: User) -> None:
    study = launched(owner, strategy={"name": "fedavg"}, seeds=[4])
    run = runs_in_order(study)[0]
    Run.objects.filter(pk=run.pk).update(spec={**run.spec, "dataset": {"name": "cifar10"}})
    (row,) = rows_of("partitions", study)
    assert (row["client"], row["metric"], row["value"]) == (None, None, None)
    assert row["problem"]
