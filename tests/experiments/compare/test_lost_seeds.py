"""fedavg diverges in three seeds of five and leads in the other two; fedprox never does. Nobody calls fedavg better."""

from __future__ import annotations

import csv
import math
from io import StringIO
from typing import Any

import pytest
from django.test import Client

from experiments.export.columns import read_run_columns
from experiments.export.tables.summaries import summary_table
from experiments.models import Run, RunState, Study, User
from experiments.results.selectors.summaries import study_summary
from experiments.statistics.finals import best_finals
from tests.experiments import lab

NAN = math.nan
SURVIVORS, STEADY = (NAN, NAN, NAN, 0.5, 0.625), (2.0, 2.0, 2.0, 2.0, 2.0)


def losses(owner: User, *cells: tuple[float | None, ...], **changes: Any) -> Study:
    """The last loss of each seed of each cell; None is a run that failed after its first round."""
    study = lab.launched(owner, seeds=len(cells[0]), **changes)
    for run, loss in zip(lab.runs_in_order(study), (loss for cell in cells for loss in cell), strict=True):
        costs = {"bytes_up": [0.0, 1e6], "seconds": [0.0, 1.0]}
        if loss is None:
            lab.record(run, {"loss": [3.0]}, RunState.FAILED)
        else:
            lab.record(run, {"loss": [3.0, loss], "accuracy": [0.1, 0.5], **costs})
    return study


@pytest.fixture
def study(owner: User) -> Study:
    return losses(owner, SURVIVORS, STEADY)


def csv_rows(client: Client, chart: str, query: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(client.get(f"/compare/charts/{chart}.csv?{query}").content.decode())))


def test_the_answer_counts_the_seeds_that_diverged(as_owner: Client, study: Study) -> None:
    page = as_owner.get(f"/compare?study={study.pk}&metric=loss&tab=better").content.decode()
    assert "FedAvg is better" not in page
    assert (
        "It cannot be told which is better. FedProx (μ = 0.1) does better in 3 of 5 seeds, FedAvg in 2: FedAvg "
        "diverged in 3. Means of the seeds that are left are not compared." in page
    )
    assert "not compared: seeds are lost in 1 of 1 settings" in page
    assert "FedAvg: 3 diverged of 5" in page
    assert "0 · 0 · 0, and 1 that cannot be told because seeds are lost" in page


def test_the_matrix_colours_nobody_whose_lead_could_turn(as_owner: Client, owner: User) -> None:
    """fedavg leads on iid, and on shards it cannot be told: one setting of two decides nothing."""
    study = losses(
        owner, (0.5, 0.6, 0.4, 0.5, 0.55), SURVIVORS, STEADY, STEADY, partition=[{"name": "iid"}, {"name": "shards"}]
    )
    page = as_owner.get(f"/compare?study={study.pk}&metric=loss&tab=better").content.decode()
    assert page.count("1 untold") == 2
    assert ">1 · 0 · 0</a>" in page
    assert 'class="num ahead"' not in page


def test_the_difference_as_numbers_and_in_words(as_owner: Client, study: Study) -> None:
    (row,) = csv_rows(as_owner, "difference", f"study={study.pk}&metric=loss")
    assert (row["difference"], row["low"], row["high"], row["n"], row["verdict"]) == ("", "", "", "5", "unknown")
    assert (row["first better"], row["second better"]) == ("2", "3")
    assert (row["first lost"], row["first missed"], row["second lost"], row["second missed"]) == ("3", "0", "0", "0")
    answer = as_owner.get(f"/api/v1/compare/difference?study={study.pk}&metric=loss").json()
    assert "FedAvg better in 2, FedProx (μ = 0.1) in 3 of 5 seeds (FedAvg diverged in 3)" in answer["description"]
    assert "not to be told in 1 because seeds are lost" in answer["notes"]


def test_the_table_marks_the_cell_that_lost_nothing(as_owner: Client, study: Study) -> None:
    query = f"study={study.pk}&metric=loss"
    fedavg, fedprox = csv_rows(as_owner, "table", query)
    assert (fedavg["mean"], fedavg["n"], fedavg["lost"], fedavg["standing"]) == ("0.5625", "2", "3", "")
    assert (fedprox["mean"], fedprox["n"], fedprox["lost"], fedprox["standing"]) == ("2.0", "5", "0", "best")
    markdown = as_owner.get(f"/compare/tables/values.md?{query}").content.decode()
    assert "| FedAvg | 0.5625 ± 0.0884 (n=2, 3 diverged) |" in markdown
    assert "| FedProx (μ = 0.1) | **2.0000 ± 0.0000** |" in markdown
    latex = as_owner.get(f"/compare/tables/values.tex?{query}").content.decode()
    assert r"FedAvg & $0.5625 \pm 0.0884$ (n=2, 3 diverged) \\" in latex
    assert "a cell that lost seeds is never called the best" in latex
    page = as_owner.get(f"/compare?{query}").content.decode()
    assert "n=2, 3 diverged" in page


def test_charts_say_what_they_leave_out(as_owner: Client, study: Study) -> None:
    for chart in ("against", "cost-bytes"):
        answer = as_owner.get(f"/compare/charts/{chart}?study={study.pk}&metric=loss&against=strategy").json()
        assert "3 seeds diverged (not finite): not in the means" in answer["notes"]
    (fedavg, fedprox) = csv_rows(as_owner, "cost-bytes", f"study={study.pk}&metric=loss")
    assert (fedavg["front"], fedavg["lost"]) == ("False", "3")
    assert (fedprox["front"], fedprox["lost"]) == ("True", "0")
    curves = as_owner.get(f"/compare/charts/curves?study={study.pk}&metric=loss").json()
    assert "3 values are not finite (diverged), left out" in curves["notes"]


def test_the_pages_of_the_study_call_only_the_steady_one_best(as_owner: Client, study: Study) -> None:
    page = as_owner.get(f"/studies/{study.pk}?cell_column=loss").content.decode()
    fedavg, fedprox = (line for line in page.splitlines() if '<span class="fold">Test loss' in line)
    assert "n=2, 3 diverged" in fedavg
    assert "(best)" not in fedavg
    assert "(best)" in fedprox


def test_summaries_and_exports_count_them(as_owner: Client, study: Study) -> None:
    rows = as_owner.get(f"/api/v1/studies/{study.pk}/summary?metric=loss&by=strategy").json()["rows"]
    assert [(row["n"], row["lost"], row["missed"], row["best"]) for row in rows] == [(2, 3, 0, False), (5, 0, 0, True)]
    table = summary_table(read_run_columns(Run.objects.all()), ["loss"])
    ends = [row for batch in table.batches for row in batch.to_pylist() if row["round"] == 1]
    assert sorted((row["n"], row["not_finite"], row["missed"]) for row in ends) == [(2, 3, 0), (5, 0, 0)]


def test_seeds_that_failed_count_as_those_that_diverged(as_owner: Client, owner: User) -> None:
    study = losses(owner, (None, None, None, 0.5, 0.625), STEADY)
    query = f"study={study.pk}&metric=loss"
    page = as_owner.get(f"/compare?{query}&tab=better").content.decode()
    assert "does better in 3 of 5 seeds, FedAvg in 2: FedAvg has no value in 3" in page
    fedavg, fedprox = csv_rows(as_owner, "table", query)
    assert (fedavg["n"], fedavg["missed"], fedavg["standing"]) == ("2", "3", "")
    assert fedprox["standing"] == "best"
    curves = csv_rows(as_owner, "curves", query)
    assert [(row["round"], row["n"], row["missed"]) for row in curves[:2]] == [("0", "5", "0"), ("1", "2", "3")]
    answer = as_owner.get(f"/compare/charts/curves?{query}").json()
    assert "3 seeds ended before their curves do (failed, cancelled or stopped)" in answer["notes"]
    rows = study_summary(study=study.pk, metric="loss", by=["strategy"]).rows
    assert [(row.n, row.missed, row.best) for row in rows] == [(2, 3, False), (5, 0, True)]
    table = summary_table(read_run_columns(Run.objects.all()), ["loss"])
    ends = [row for batch in table.batches for row in batch.to_pylist() if row["round"] == 1]
    assert sorted((row["n"], row["missed"]) for row in ends) == [(2, 3), (5, 0)]


def test_seeds_that_never_reach_the_target_count(as_owner: Client, owner: User) -> None:
    """fedavg reaches a loss of 1 in two seeds after one round; fedprox in all five, as fast."""
    study = losses(owner, (2.0, 2.0, 2.0, 0.5, 0.5), (0.75, 0.75, 0.75, 0.75, 0.75))
    fedavg, fedprox = csv_rows(as_owner, "table", f"study={study.pk}&metric=loss&value=rounds&target=1")
    assert (fedavg["mean"], fedavg["n"], fedavg["missed"], fedavg["standing"]) == ("1.0", "2", "3", "")
    assert (fedprox["mean"], fedprox["n"], fedprox["missed"], fedprox["standing"]) == ("1.0", "5", "0", "best")


def test_seeds_that_still_run_are_not_lost(as_owner: Client, owner: User) -> None:
    study = lab.launched(owner)
    runs = lab.runs_in_order(study)
    for run in (runs[0], *runs[3:]):
        lab.record(run, {"loss": [3.0, 1.0]})
    lab.record(runs[1], {"loss": [3.0]}, RunState.RUNNING)
    fedavg, _ = csv_rows(as_owner, "table", f"study={study.pk}&metric=loss")
    assert (fedavg["n"], fedavg["lost"], fedavg["missed"]) == ("1", "0", "0")
    points = csv_rows(as_owner, "curves", f"study={study.pk}&metric=loss")
    assert {row["missed"] for row in points} == {"0"}


def test_of_studies_without_a_complete_cell_none_is_best(owner: User) -> None:
    study = lab.launched(owner)
    for run, value in zip(lab.runs_in_order(study), (0.9, NAN, 0.9, 0.8, 0.8, NAN), strict=True):
        lab.record(run, {"accuracy": [value]})
    assert best_finals(studies=[study.pk]) == {}
