from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Study, User
from experiments.presets import preset as preset_module
from experiments.studies.services.launch import study_launch
from tests.experiments.lab import record, runs_in_order

pytestmark = pytest.mark.django_db
BLOCK = {
    "dataset": {"name": "uci-har"},
    "model": {"name": "mlp-50"},
    "partition": {"name": "natural"},
    "clients": None,
    "strategy": {"name": "fedavg"},
    "hybrid": {"ratio": [0.0, 1.0]},
    "rounds": 20,
    "local": {"epochs": 5, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.01, "momentum": 0.9}},
    "seeds": 3,
}


@pytest.fixture
def study(owner: User, monkeypatch: pytest.MonkeyPatch) -> Study:
    """At ratio 0 it ends at 91, at ratio 1 at 97 %, in every seed within half a point."""
    monkeypatch.setattr("experiments.studies.services.launch.missing_data_problems", lambda *_: [])
    study = study_launch(owner=owner, name="Half of it", blocks=[BLOCK], tags=["iaisy-2024"], requires="gpu")
    for run in runs_in_order(study):
        end = (0.97 if run.spec["hybrid"]["ratio"] else 0.91) + run.seed / 200
        record(run, {"accuracy": [0.5] * 20 + [end]})
    return study


@pytest.fixture
def client(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def test_the_page_has_verdicts_counts_claims_and_settings(client: Client, study: Study) -> None:
    page = client.get(f"/presets/iaisy-2024?study={study.pk}")
    lines = {(line.about, line.what): line for line in page.context["lines"]}
    start = "UCI HAR · batch 32 SGD (lr = 0.01, momentum = 0.9) · share-disjoint hybrid"

    assert lines[f"{start} 0 %", "test accuracy at the end"].verdict == "agrees"  # 91.5, published 91.15
    differing = lines[f"{start} 100 %", "test accuracy at the end"]  # 97.5, published 95.25
    assert (differing.verdict, differing.why.startswith("The batch size is not stated")) == ("differs", True)
    claims = {each.text: each.outcome for each in page.context["claims"]}
    assert claims["Centralised training beats federated training (UCI HAR, SGD)."] == "holds"
    text = page.content.decode()
    assert "1 of 14 agree" in text
    assert "Settings that the study does not state" in text


def test_rest_has_the_same_verdicts(client: Client, study: Study) -> None:
    answer = client.get(f"/api/v1/presets/iaisy-2024/comparison?study={study.pk}").json()

    assert answer["verdicts"]["agree"] == 1
    assert [each["outcome"] for each in answer["claims"]].count("holds") == 1
    assert {row["verdict"] for row in answer["rows"]} == {"agrees", "differs", "not compared"}


def test_a_card_tells_what_the_reproduction_came_to(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"agree": 31, "differ": 20, "not_compared": 5, "fitted_agree": 0, "fitted": 0}
    monkeypatch.setattr("experiments.presets.verdicts.stored_verdicts", lambda: {"iaisy-2024": counts})

    assert "31 of 56 agree, 20 differ, 5 not compared" in client.get("/presets").content.decode()
    assert "31 of 56 agree" in client.get("/presets/iaisy-2024").content.decode()
    assert client.get("/api/v1/presets/iaisy-2024").json()["verdicts"] == counts
    assert client.get("/api/v1/presets/niid-bench").json()["verdicts"] is None
    assert preset_module.stored_verdicts().keys() <= preset_module.presets().keys()
