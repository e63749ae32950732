"""Three seeds computed by two studies that share no run: whoever shows an n or a band says three, not six."""

from __future__ import annotations

import csv
import math
from io import StringIO

import pytest
from django.http import QueryDict
from django.test import Client

from experiments.compare.chart_builders import client_spreads, confusion_chart, fairness_chart, selection_table
from experiments.compare.charts.pivot_table import pivot_caption
from experiments.compare.choices import choices_of
from experiments.compare.displays.subject import Subject
from experiments.compare.samples import samples_of
from experiments.compare.selection import selection_of
from experiments.compare.selectors.clients import client_accuracies
from experiments.export.columns import read_run_columns
from experiments.export.tables.summaries import summary_table
from experiments.models import Membership, Round, Run, Study, User
from experiments.presets.preset import Final
from experiments.presets.readings import read_sample
from experiments.presets.selectors import measured_cells
from experiments.results.selectors.summaries import study_summary
from experiments.results.services.curves import values_write
from experiments.statistics.curves import curve_statistics
from experiments.statistics.finals import best_finals, final_statistics
from experiments.studies.services.launch import study_launch
from tests.experiments import lab

# Seeds 0, 1 and 2 have 0.25 and 0.25, 0.25 and 0.75, 0.5 and 1: means 0.25, 0.5 and 0.75, whose mean is 0.5 and whose
# standard deviation is 0.25. Six numbers would have 0.316.
FIRST, AGAIN = (0.25, 0.25, 0.5), (0.25, 0.75, 1.0)


@pytest.fixture
def both(owner: User) -> tuple[Study, Study]:
    block = {**lab.BLOCK, "strategy": {"name": "fedavg"}, "clients": [3, 4]}
    studies = [
        study_launch(owner=owner, name=name, blocks=[block], requires="gpu", reuse=False) for name in ("One", "Again")
    ]
    for study, values in zip(studies, (FIRST, AGAIN), strict=True):
        for run, value in zip(lab.runs_in_order(study), values * 2, strict=True):
            run.findings = {"confusion": [[int(8 * value), 0], [0, 8]]}
            costs = {"bytes_up": [0.0, 8e6 * value], "seconds": [0.0, value]}
            lab.record(run, {"accuracy": [value, value], "client_accuracy_mean": [value, value], **costs})
            Round.objects.filter(run=run).update(clients={"0": {"accuracy": value}, "1": {"accuracy": value}})
    return studies[0], studies[1]


@pytest.fixture
def joined(both: tuple[Study, Study]) -> Study:
    """The first study, holding the runs of both."""
    for place, run in enumerate(lab.runs_in_order(both[1]), start=100):
        Membership.objects.create(study=both[0], run=run, position=place, turn=place, reused=True)
    return both[0]


def address(both: tuple[Study, Study], more: str = "") -> str:
    return f"study={both[0].pk}&study={both[1].pk}{more}"


def csv_rows(client: Client, chart: str, query: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(client.get(f"/compare/charts/{chart}.csv?{query}").content.decode())))


def test_the_curves_of_compare(as_owner: Client, both: tuple[Study, Study]) -> None:
    answer = as_owner.get(f"/compare/charts/curves?{address(both)}").json()
    assert [entry["n"] for entry in answer["legend"]] == ["3", "3"]
    rows = csv_rows(as_owner, "curves", address(both))
    assert {(row["mean"], row["std"], row["n"]) for row in rows} == {("0.5", "0.25", "3")}


@pytest.mark.parametrize("chart", ["against", "table", "cost-bytes", "cost-seconds"])
def test_the_numbers_of_compare(as_owner: Client, both: tuple[Study, Study], chart: str) -> None:
    rows = csv_rows(as_owner, chart, address(both))
    assert {(row["mean"], row["n"]) for row in rows} == {("0.5", "3")}
    answer = as_owner.get(f"/api/v1/compare/{chart}?{address(both)}").json()
    assert {row[answer["columns"].index("n")] for row in answer["rows"]} == {3}


@pytest.mark.parametrize("value", ["final", "best", "last", "at&at=1", "rounds&target=20", "bytes&target=20"])
def test_every_value_of_the_table_and_its_text(as_owner: Client, both: tuple[Study, Study], value: str) -> None:
    query = address(both, f"&value={value}")
    assert {row["n"] for row in csv_rows(as_owner, "table", query)} == {"3"}
    for kind in ("tex", "md"):
        assert "n=3" in as_owner.get(f"/compare/tables/values.{kind}?{query}").content.decode()
    choices = choices_of(QueryDict(query))
    selection = selection_of(choices)
    assert "(n=3)" in pivot_caption(selection_table(selection, choices, samples_of(selection, choices)))


def test_differences_over_matching_seeds(as_owner: Client, both: tuple[Study, Study]) -> None:
    assert [row["n"] for row in csv_rows(as_owner, "difference", address(both))] == ["3"]


def test_clients_and_confusion_matrices(both: tuple[Study, Study]) -> None:
    choices = choices_of(QueryDict(address(both, "&tab=clients")))
    selection = selection_of(choices)
    spreads = client_spreads(selection, choices, client_accuracies(runs=list(selection.runs)))
    # Two clients of each seed, both at the seed's mean.
    assert [(each.seeds, each.values) for each in spreads] == [(3, (25.0, 25.0, 50.0, 50.0, 75.0, 75.0))] * 2
    chart = fairness_chart(selection_of(choices), choices)
    assert chart.notes == "All clients of all seeds at the last evaluated round"
    Round.objects.filter(run__seed=2).update(clients={})
    chart = fairness_chart(selection_of(choices), choices)
    assert chart.notes.endswith("2 seeds are missing (failed, cancelled or never got there): not in the means")
    table = confusion_chart(selection_of(choices), choices).table
    # Of each seed the first run's: 2, 2 and 4 of class 0, 8 of class 1 each.
    assert [row[3] for row in table.rows] == [8, 0, 0, 24] * 2


def test_curves_and_finals_of_a_study_that_holds_both(as_owner: Client, joined: Study) -> None:
    cells = {cell: list(Run.objects.filter(cell=cell).values_list("pk", flat=True)) for cell in cells_of(joined)}
    assert {(each.mean, each.std, each.n) for each in curve_statistics(cells=cells, metric="accuracy")} == {
        (0.5, 0.25, 3)
    }
    finals = final_statistics(studies=[joined.pk], metric="accuracy")[joined.pk]
    assert {(each.mean, each.std, each.n) for each in finals.values()} == {(0.5, 0.25, 3)}
    assert best_finals(studies=[joined.pk])[joined.pk].n == 3
    page = as_owner.get(f"/studies/{joined.pk}").content.decode()
    assert page.count("50.00 ± 25.00") == 3  # two cells, and the headline
    assert page.count("3 / 3") == 2
    figure = as_owner.get(f"/studies/{joined.pk}/figure").json()
    assert [entry["n"] for entry in figure["legend"]] == ["3", "3"]


def cells_of(study: Study) -> set[str]:
    return set(study.runs.values_list("cell", flat=True))


def test_the_list_of_studies(as_owner: Client, joined: Study) -> None:
    assert "50.0 ± 25.0" in as_owner.get("/studies").content.decode()


def test_displays_read_every_run_of_a_seed(as_owner: Client, joined: Study) -> None:
    (curves, *_) = Subject(joined).curves("accuracy").values()
    sample = read_sample(Final(take="final"), curves)
    assert (sample.seeds, sample.n, sample.std) == ({0: 0.25, 1: 0.5, 2: 0.75}, 3, 0.25)
    page = as_owner.get(f"/studies/{joined.pk}/displays").content.decode()
    assert "50.00 ± 25.00" in page
    bars = as_owner.get(f"/studies/{joined.pk}/displays/charts/final-bars.csv").content.decode()
    assert [row["n"] for row in csv.DictReader(StringIO(bars))] == ["3", "3"]


def test_published_numbers_are_compared_with_every_run_of_a_seed(joined: Study) -> None:
    cell = measured_cells(joined, ["accuracy"])[0]
    sample = read_sample(Final(take="final"), cell.seeds)
    assert (sample.n, sample.mean, sample.std) == (3, 0.5, 0.25)


def test_summaries_and_exports(as_owner: Client, joined: Study) -> None:
    assert {(row.mean, row.std, row.n) for row in study_summary(study=joined.pk).rows} == {(0.5, 0.25, 3)}
    answer = as_owner.get(f"/api/v1/studies/{joined.pk}/summary?by=clients").json()
    assert [row["n"] for row in answer["rows"]] == [3, 3]
    table = summary_table(read_run_columns(Run.objects.all()), ["accuracy"])
    rows = [row for batch in table.batches for row in batch.to_pylist()]
    assert {(row["mean"], row["std"], row["n"]) for row in rows} == {(0.5, 0.25, 3)}


def test_a_seed_of_which_one_run_is_lost_is_lost_everywhere(as_owner: Client, joined: Study) -> None:
    run = lab.runs_in_order(joined)[0]
    values_write((run.pk, each.round, "accuracy", math.nan) for each in run.metrics.filter(name="accuracy"))
    finals = final_statistics(studies=[joined.pk], metric="accuracy")[joined.pk]
    assert [(each.mean, each.n, each.lost) for each in finals.values()] == [(0.625, 2, 1), (0.5, 3, 0)]
    rows = csv_rows(as_owner, "table", f"study={joined.pk}")
    assert [(row["mean"], row["n"], row["lost"]) for row in rows] == [("0.625", "2", "1"), ("0.5", "3", "0")]
