"""A study that came from a preset has the preset's printed numbers in its charts."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from experiments.charts.chart import Chart
from experiments.compare.chart_builders import CHART_BUILDERS
from experiments.compare.choices import choices_of
from experiments.compare.selection import selection_of
from experiments.models import Study, User
from tests.experiments.lab import launched, record, runs_in_order

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(owner: User) -> Study:
    """Like the study of hybrid sharing at ratios 0 and 0.4: it printed 91.15 and 94.5 %, and 90 % after 15 rounds."""
    hybrid = {"method": "share-disjoint", "ratio": [0.0, 0.4]}
    local = {"batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9}}
    study = launched(owner, seeds=1, strategy={"name": "fedavg"}, hybrid=hybrid, local=local)
    for run in runs_in_order(study):
        run.spec["dataset"]["name"] = "uci-har"
        record(run, {"accuracy": [0.1, 0.91, 0.92]})
    study.origin = "iaisy-2024:quick"
    study.save()
    return study


def chart(name: str, query: str) -> Chart:
    choices = choices_of(QueryDict(query))
    return CHART_BUILDERS[name](selection_of(choices), choices)


def published_marks(chart: Chart) -> list[tuple[list[float], list[float]]]:
    return [(each["x"], each["y"]) for each in chart.figure["data"] if each.get("marker", {}).get("symbol")]


def test_curves_have_the_end_that_was_printed(study: Study) -> None:
    curves = chart("curves", f"study={study.pk}&colour=hybrid.ratio")
    assert published_marks(curves) == [([2], [91.15]), ([2], [94.5])]
    assert curves.notes == "Open diamonds: published values"
    assert curves.description.endswith("Published: hybrid 0 % at 2: 91.15 %; hybrid 40 % at 2: 94.5 %.")
    assert published_marks(chart("curves", f"study={study.pk}&metric=loss")) == []


def test_against_an_axis_the_same_number_is_printed_and_measured(study: Study) -> None:
    against = f"study={study.pk}&against=hybrid.ratio"
    assert published_marks(chart("against", against)) == [([0.0, 0.4], [91.15, 94.5])]
    assert published_marks(chart("against", f"{against}&value=rounds&target=90")) == [([0.0], [15.0])]
    assert published_marks(chart("against", f"{against}&value=rounds&target=80")) == []


def test_a_study_of_ones_own_has_none(study: Study) -> None:
    Study.objects.update(origin="", tags=[])
    assert published_marks(chart("curves", f"study={study.pk}")) == []
