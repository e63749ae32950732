"""A comparison beside a starred cell: a line in its charts and a row above its table."""

from __future__ import annotations

import pytest
from django.test import Client

from experiments.access.services.share_links import link_create
from experiments.bookmarks.services import baseline_star, baseline_unstar
from experiments.models import Baseline, Study, User
from tests.experiments import lab


@pytest.fixture
def baseline(study: Study) -> Baseline:
    """FedAvg, whose seeds end at 0.8, 0.9 and 1.0."""
    return baseline_star(study=study, cell=lab.runs_in_order(study)[0].cell, actor=study.owner)


@pytest.fixture
def other(stranger: User) -> Study:
    made = lab.launched(stranger, "Another", strategy={"name": "scaffold"}, rounds=4)
    for run in lab.runs_in_order(made):
        lab.record(run, {"accuracy": [0.1, 0.4, 0.6]})
    return made


def lines_at(figure: dict, value: float) -> int:  # type: ignore[type-arg]
    return sum(shape["y0"] == shape["y1"] == pytest.approx(value) for shape in figure["layout"].get("shapes", []))


def test_curves_have_a_line_at_its_last_round(as_owner: Client, other: Study, baseline: Baseline) -> None:
    plain = as_owner.get(f"/compare/charts/curves?study={other.pk}").json()
    beside = as_owner.get(f"/compare/charts/curves?study={other.pk}&baseline={baseline.pk}").json()
    assert (lines_at(plain, 90.0), lines_at(beside, 90.0)) == (0, 1)
    (words,) = [each["text"] for each in beside["layout"]["annotations"] if each["text"].startswith("baseline")]
    assert words == "baseline: FedAvg · Digits · IID"
    assert "Baseline: FedAvg · Digits · IID, 90.00 ± 10.00, n = 3" in beside["notes"]


def test_the_table_has_a_row_with_the_same_value(as_owner: Client, other: Study, baseline: Baseline) -> None:
    page = as_owner.get(f"/compare?study={other.pk}&baseline={baseline.pk}").content.decode()
    assert "<strong>90.00 ± 10.00, n = 3</strong> %" in page
    best = as_owner.get(f"/compare?study={other.pk}&baseline={baseline.pk}&metric=loss").content.decode()
    assert "<strong>0.5000 ± 0.0000, n = 3</strong>" in best


def test_a_baseline_on_other_data_is_said_to_be_no_measure(
    as_owner: Client, stranger: User, other: Study, baseline: Baseline
) -> None:
    blobs = lab.launched(stranger, "Blobs", dataset={"name": "blobs"}, model={"name": "mlp-50"})
    for run in lab.runs_in_order(blobs):
        lab.record(run, {"accuracy": [0.1, 0.4, 0.6]})
    pages = [as_owner.get(f"/compare?study={study}&baseline={baseline.pk}") for study in (other.pk, blobs.pk)]
    assert ["another data set" in page.content.decode() for page in pages] == [False, True]


def test_a_star_that_is_gone_changes_nothing(as_owner: Client, other: Study, baseline: Baseline) -> None:
    baseline_unstar(baseline=baseline, actor=baseline.study.owner)
    answer = as_owner.get(f"/compare?study={other.pk}&baseline={baseline.pk}")
    assert answer.status_code == 200
    assert "Baseline" not in answer.content.decode()
    assert lines_at(as_owner.get(f"/compare/charts/curves?study={other.pk}&baseline={baseline.pk}").json(), 90.0) == 0


def test_whoever_has_a_share_link_sees_the_baseline_that_was_shared_and_no_other(
    client: Client, other: Study, baseline: Baseline
) -> None:
    baseline_star(study=other, cell=lab.runs_in_order(other)[0].cell, actor=other.owner)
    _, secret = link_create(owner=other.owner, query=f"study={other.pk}&baseline={baseline.pk}")
    page = client.get(f"/shared/{secret}").content.decode()
    assert "Baseline: FedAvg · Digits · IID" in page
    assert 'name="baseline"' not in page
    assert "its study" not in page
