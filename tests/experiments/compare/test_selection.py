from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict

from experiments.compare.choices import choices_of
from experiments.compare.selection import Facet, FacetValue, Selection, selection_of, spec_without
from experiments.models import Study, User
from tests.experiments import lab


@pytest.fixture
def study(owner: User) -> Study:
    """FedAvg and FedProx with two strengths, on an IID and a Dirichlet partition with two alphas."""
    return lab.launched(
        owner,
        strategy=[{"name": "fedavg"}, {"name": "fedprox", "mu": [0.1, 1.0]}],
        partition=[{"name": "iid"}, {"name": "label-dirichlet", "alpha": [0.1, 5.0]}],
        seeds=1,
    )


def chosen(study: Study, text: str = "") -> Selection:
    return selection_of(choices_of(QueryDict(f"study={study.pk}&{text}")))


def test_facets_are_the_axes_that_vary_with_their_values(study: Study) -> None:
    strategy = next(facet for facet in chosen(study).facets if facet.axis == "strategy")
    assert strategy == Facet(
        "strategy",
        "strategy",
        (
            FacetValue("fedavg", "FedAvg", 3, False),
            FacetValue("fedprox · mu 0.1", "FedProx (μ = 0.1)", 3, False),
            FacetValue("fedprox · mu 1", "FedProx (μ = 1)", 3, False),
        ),
    )


def test_values_of_one_axis_widen_and_those_of_another_narrow(study: Study) -> None:
    selection = chosen(study, "only=strategy:fedavg&only=strategy:fedprox · mu 1&only=partition:iid")
    assert [(cell.spec["strategy"]["name"], cell.spec["partition"]["name"]) for cell in selection.cells] == [
        ("fedavg", "iid"),
        ("fedprox", "iid"),
    ]
    assert list(selection.axes) == ["strategy"]
    assert len(selection.facets) == 2
    assert len(chosen(study, "only=strategy:nobody").cells) == 9


def test_numbers_inside_components_can_be_axes(study: Study) -> None:
    selection = chosen(study)
    assert list(selection.fields) == ["partition.alpha", "strategy.mu", "partition", "strategy"]
    on_alpha = selection.field_values("partition.alpha")
    assert sorted(on_alpha.values()) == [0.1, 0.1, 0.1, 5.0, 5.0, 5.0]
    rest = selection.axes_without("partition.alpha")
    assert list(rest) == ["strategy"]
    assert set(rest["strategy"]) == set(on_alpha)


def test_an_axis_told_by_the_chart_is_not_told_again(study: Study) -> None:
    rest = chosen(study).axes_without("strategy.mu", "partition")
    assert rest == {}


def test_nothing_chosen_is_nothing_read(django_assert_num_queries: Any, db: None) -> None:
    with django_assert_num_queries(0):
        assert selection_of(choices_of(QueryDict("metric=loss"))) == Selection((), (), {}, ())


def test_fields_are_taken_out_at_any_depth() -> None:
    spec = {"a": {"name": "x", "b": 1, "c": {"d": 2, "e": 3}}, "f": 4}
    assert spec_without(spec, ["a.b", "a.c.d", "f"]) == {"a": {"name": "x", "c": {"e": 3}}}
