from __future__ import annotations

import pytest
from django.http import QueryDict

from experiments.compare.chart_builders import heat_chart
from experiments.compare.choices import choices_of
from experiments.compare.displays.charts import (
    classes_held_chart,
    detectors_chart,
    detectors_together_chart,
    final_bars_chart,
    samples_held_chart,
    swap_moments_chart,
    traffic_chart,
)
from experiments.compare.displays.offers import displays_for
from experiments.compare.displays.subject import Subject, subject_of
from experiments.compare.selection import selection_of
from experiments.models import User
from experiments.presets.preset import presets
from experiments.studies.services.launch import study_launch
from tests.experiments.lab import BLOCK, launched, record, runs_in_order

pytestmark = pytest.mark.django_db


def names(subject: Subject) -> list[str]:
    return [each.name for each in displays_for(subject)]


def test_only_displays_that_fit_are_offered(owner: User) -> None:
    study = launched(owner, seeds=1, rounds=10)
    assert names(subject_of(study)) == []
    for run in runs_in_order(study):
        record(run, {"accuracy": [0.1] + [0.5] * 10, "bytes_up": [0.0] + [1e6] * 10})

    assert names(subject_of(study)) == [
        "curves",
        "rounds-table",
        "stability-table",
        "final-table",
        "rounds-to-target",
        "traffic",
        "final-bars",
        "holdings",
    ]
    bars = final_bars_chart(subject_of(study)).table.rows
    assert [row[2:] for row in bars] == [(0.5, None, 1, 0, 0), (0.5, None, 1, 0, 0)]
    assert [row[2] for row in traffic_chart(subject_of(study)).table.rows] == [1e7, 1e7]


def test_ratios_are_drawn_against_the_ratio(owner: User) -> None:
    study = launched(owner, seeds=1, strategy={"name": "fedavg"}, hybrid={"ratio": [0.0, 0.5]})
    for run in runs_in_order(study):
        record(run, {"accuracy": [0.1, 0.5, 0.95]})
    displays = {each.name: each for each in displays_for(subject_of(study, presets()["iaisy-2024"]))}

    assert "against=hybrid.ratio" in displays["against-ratio"].views[0].query
    assert "value=rounds&target=90" in displays["rounds-to-target"].views[0].query
    assert displays["rounds-to-target"].tables == []
    assert "rounds-table" not in displays


def test_strategies_lie_over_each_other_where_labels_are_skewed(owner: User) -> None:
    study = launched(owner, seeds=1, partition=[{"name": "iid"}, {"name": "shards"}])
    for run in runs_in_order(study):
        record(run, {"accuracy": [0.1, 0.5]})
    displays = {each.name: each for each in displays_for(subject_of(study))}
    assert "colour=strategy&column=partition&only=partition%3Ashards" in displays["overlays"].views[0].query

    alike = launched(owner, seeds=1, name="All alike", partition={"name": "shards"})
    assert "overlays" not in names(subject_of(alike))


def test_what_a_component_decides_is_not_told_again(owner: User) -> None:
    block = {**BLOCK, "seeds": 1, "strategy": {"name": "fedavg"}, "clients": 4}
    reference = {**BLOCK, "seeds": 1, "strategy": {"name": "centralised"}, "rounds": 5}
    study = study_launch(owner=owner, name="With a reference", blocks=[block, reference], requires="gpu")
    subject = subject_of(study)

    assert list(subject.selection.axes) == ["strategy", "rounds", "clients"]
    assert list(subject.label_axes) == ["strategy"]
    assert [place.line.label for place in subject.cell_styles.values()] == ["FedAvg", "Centralised"]


def test_swaps_are_marked(owner: User) -> None:
    study = launched(owner, seeds=1, rounds=9, strategy={"name": "fedswap", "h1": 2, "h2": 2})
    record(runs_in_order(study)[0], {"accuracy": [number / 10 for number in range(10)]})
    marked = [each for each in swap_moments_chart(subject_of(study)).figure["data"] if each["mode"] == "markers"]

    assert [each["x"] for each in marked] == [[3, 7], [1, 5, 9]]
    assert "swap-moments" in names(subject_of(study))


def test_detectors_have_a_line_for_each_class_and_stand_beside_their_mean(owner: User) -> None:
    study = launched(owner, seeds=1, strategy={"name": "athena"})
    run = runs_in_order(study)[0]
    prefix = "athena.detector_accuracy"
    run.findings = {"athena": {"groups": [{"members": [0, 1], "classes": ["0"]}], "purity": 0.5}}
    record(run, {"accuracy": [0.1, 0.6], prefix: [0.5, 0.85], f"{prefix}.0": [0.5, 0.8], f"{prefix}.1": [0.5, 0.9]})

    def last(trace: dict[str, list[float]]) -> float:
        return trace["y"][-1]

    subject = subject_of(study)
    assert [(each["legendgroup"], last(each)) for each in detectors_chart(subject).figure["data"]] == [
        ("0", 80.0),
        ("1", 90.0),
    ]
    assert [last(each) for each in detectors_together_chart(subject).figure["data"]] == [60.0, 85.0]
    displays = {each.name: each for each in displays_for(subject, presets()["athena-fl-2023"].displays)}
    assert [each.text for each in displays["groups"].tables[0].rows[0][1]][:3] == ["1", "2", "0.5"]
    assert list(displays) == ["detectors", "curves", "sizes", "groups"]


def test_a_table_is_read_at_the_presets_rounds(owner: User) -> None:
    study = launched(owner, seeds=1, rounds=20)
    for run in runs_in_order(study):
        record(run, {"accuracy": [number / 20 for number in range(21)]})
    at, best = next(
        each.tables
        for each in displays_for(subject_of(study, presets()["tagarakis-2023"]))
        if each.name == "rounds-table"
    )

    assert at.columns == ("round 10", "round 20")
    assert [field.text for field in at.rows[0][1]] == ["50.00", "100.00"]
    assert [field.text for field in best.rows[0][1]] == ["100.00", "20"]
    assert subject_of(study).table_rounds == (4, 8, 12, 16, 20)


def test_every_line_is_drawn_where_there_are_more_than_a_chart_takes(owner: User) -> None:
    """Two models, two optimizers, two methods and eleven ratios are 88 cells: split by model and optimizer, 22 each."""
    ratios = [number / 10 for number in range(11)]
    study = launched(
        owner,
        seeds=1,
        strategy={"name": "fedavg"},
        model={"name": ["logistic", "mlp-50"]},
        hybrid={"method": ["share-disjoint", "unify"], "ratio": ratios},
        local={"optimizer": {"name": ["sgd", "adam"]}},
    )
    record(runs_in_order(study)[0], {"accuracy": [0.1, 0.5]})
    views = next(each.views for each in displays_for(subject_of(study)) if each.name == "curves")

    assert [view.title for view in views] == [
        f"Test accuracy, {model}, {optimizer}"
        for model in ("Logistic regression", "MLP 50")
        for optimizer in ("SGD (lr = 0.01)", "Adam (lr = 0.001)")
    ]
    cells = [selection_of(choices_of(QueryDict(view.query))).cells for view in views]
    assert [len(each) for each in cells] == [22] * 4
    assert len({cell.key for each in cells for cell in each}) == 88


def test_pooled_training_has_a_column_for_each_number_of_epochs(owner: User) -> None:
    study = launched(owner, seeds=2, strategy={"name": "centralised"}, rounds=[2, 5])
    for run in runs_in_order(study):
        record(run, {"accuracy": [0.1] * run.rounds_total + [0.8 + run.seed / 10]})
    displays = {each.name: each for each in displays_for(subject_of(study))}

    (table,) = displays["centralised-table"].tables
    assert (table.heads, table.columns) == (("data set", "model"), ("2 epochs", "5 epochs"))
    (row,) = table.rows
    assert row[0] == ("digits", "logistic")
    assert [field.text for field in row[1]] == ["85.00 ± 7.07"] * 2  # 80 and 90 %


def test_a_tuning_grid_is_a_map_for_each_number_of_epochs(owner: User) -> None:
    grid = {"epochs": [1, 5], "batch_size": [16, 32], "optimizer": {"name": "adam", "lr": [0.1, 0.01]}}
    study = launched(owner, seeds=1, strategy={"name": "fedavg"}, local=grid)
    for place, run in enumerate(runs_in_order(study)):
        record(run, {"accuracy": [0.1, 0.5 + place / 100]})
    displays = {each.name: each for each in displays_for(subject_of(study))}
    (view,) = displays["tuning-map"].views
    query = QueryDict(view.query)
    chart = heat_chart(selection_of(choices_of(query)), choices_of(query))

    assert view.chart == "map"
    assert len({trace.get("xaxis") for trace in chart.figure["data"]}) == 2
    assert len(chart.table.rows) == 8


def test_natural_clients_are_counted_by_what_they_hold(owner: User) -> None:
    dataset = {"name": "synthetic", "devices": 12}
    study = launched(
        owner, seeds=1, strategy={"name": "fedavg"}, dataset=dataset, partition={"name": "natural"}, clients=None
    )
    record(runs_in_order(study)[0], {"accuracy": [0.1, 0.5]})
    displays = {each.name: each for each in displays_for(subject_of(study))}

    assert [name for name, _ in displays["holdings-histograms"].charts] == ["classes-held", "samples-held"]
    for chart in (classes_held_chart(subject_of(study)), samples_held_chart(subject_of(study))):
        assert sum(count for _, count in chart.table.rows) == 12
