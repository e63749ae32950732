from __future__ import annotations

import math

from django.test import Client

from experiments.models import Study, User
from tests.experiments import lab


def test_a_studys_figure_has_a_line_and_a_band_per_cell(as_owner: Client, study: Study) -> None:
    answer = as_owner.get(f"/studies/{study.pk}/figure").json()
    lines = [trace for trace in answer["data"] if "name" in trace]
    assert [(line["name"], line["meta"], line["x"]) for line in lines] == [
        ("FedAvg · n=3", {"hue": 0}, [0, 1, 2]),
        ("FedProx (μ = 0.1) · n=1", {"hue": 1}, [0, 1]),
    ]
    assert [round(value, 9) for value in lines[0]["y"]] == [10.0, 50.0, 90.0]
    assert answer["notes"] == (
        "Band: mean ± std over seeds · 1 seed ended before its curve does (failed, cancelled or stopped): not in the "
        "means from there on"
    )


def test_metric_band_and_cells_are_chosen_in_the_address(as_owner: Client, study: Study) -> None:
    cell = lab.runs_in_order(study)[0].cell
    answer = as_owner.get(f"/studies/{study.pk}/figure", {"metric": "loss", "band": "none", "cell": cell}).json()
    assert [trace["y"] for trace in answer["data"]] == [[2.0, 1.0, 0.5]]
    assert answer["layout"]["yaxis"]["title"]["text"] == "Test loss"


def test_cells_beyond_24_are_on_the_next_page(as_owner: Client, owner: User) -> None:
    mus = {"name": "fedprox", "mu": [place / 100 for place in range(1, 27)]}
    study = lab.launched(owner, "Twenty-six", strategy=mus, seeds=1)
    for run in lab.runs_in_order(study):
        lab.record(run, {"accuracy": [0.1, 0.5]})
    first, second = (as_owner.get(f"/studies/{study.pk}/figure", {"page": page}).json() for page in (1, 2))
    assert [(len(answer["data"]), answer["page"], answer["pages"]) for answer in (first, second)] == [
        (24, 1, 2),
        (2, 2, 2),
    ]
    assert (first["notes"], second["notes"]) == ("24 of 26 cells drawn", "2 of 26 cells drawn")
    assert second["data"][-1]["name"] == "FedProx (μ = 0.26) · n=1"


def test_a_diverged_run_is_a_chart_with_a_note_and_never_broken_json(as_owner: Client, study: Study) -> None:
    run = lab.record(lab.runs_in_order(study)[5], {"loss": [1.0, math.inf, math.nan]})
    answer = as_owner.get(f"/runs/{run.pk}/figure", {"metric": "loss"}).json()
    assert [trace["y"] for trace in answer["data"]] == [[1.0]]
    assert answer["notes"] == "2 values are not finite (diverged) and left out of the means"


def test_nonsense_in_the_address_is_ignored(as_owner: Client, study: Study) -> None:
    assert as_owner.get(f"/studies/{study.pk}", {"page": "x", "state": "?"}).status_code == 200
