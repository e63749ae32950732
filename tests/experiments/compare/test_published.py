"""A study that came from a preset has the preset's printed numbers in its charts."""

from __future__ import annotations

import pytest
from django.http import QueryDict

from experiments.charts.chart import Drawn
from experiments.compare.chart_builders import CHARTS
from experiments.compare.choices import choices_of
from experiments.compare.selection import picked
from experiments.models import Study, User
from tests.experiments.lab import launched, record, runs_in_order

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(owner: User) -> Study:
    """Like the study of hybrid sharing at ratios 0 and 0.4: it printed 91.15 and 94.5 %, and 90 % after 15 rounds."""
    hybrid = {"method": "share-disjoint", "ratio": [0.0, 0.4]}
    found = launched(owner, seeds=1, strategy={"name": "fedavg"}, hybrid=hybrid)
    for run in runs_in_order(found):
        run.spec["dataset"]["name"] = "uci-har"
        record(run, {"accuracy": [0.1, 0.91, 0.92]})
    found.origin = "iaisy-2024:quick"
    found.save()
    return found


def chart(name: str, query: str) -> Drawn:
    choices = choices_of(QueryDict(query))
    return CHARTS[name](picked(choices), choices)


def diamonds(drawn: Drawn) -> list[tuple[list[float], list[float]]]:
    return [(each["x"], each["y"]) for each in drawn.figure["data"] if each.get("marker", {}).get("symbol")]


def test_curves_have_the_end_that_was_printed(study: Study) -> None:
    drawn = chart("curves", f"study={study.pk}&colour=hybrid.ratio")
    assert diamonds(drawn) == [([2], [91.15]), ([2], [94.5])]
    assert drawn.notes == "Open diamonds: published values"
    assert drawn.description.endswith("Published: hybrid ratio 0 at 2: 91.15 %; hybrid ratio 0.4 at 2: 94.5 %.")
    assert diamonds(chart("curves", f"study={study.pk}&metric=loss")) == []


def test_against_an_axis_the_same_number_is_printed_and_measured(study: Study) -> None:
    against = f"study={study.pk}&against=hybrid.ratio"
    assert diamonds(chart("against", against)) == [([0.0, 0.4], [91.15, 94.5])]
    assert diamonds(chart("against", f"{against}&value=rounds&target=90")) == [([0.0], [15.0])]
    assert diamonds(chart("against", f"{against}&value=rounds&target=80")) == []


def test_a_study_of_ones_own_has_none(study: Study) -> None:
    Study.objects.update(origin="", tags=[])
    assert diamonds(chart("curves", f"study={study.pk}")) == []
