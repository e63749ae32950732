from __future__ import annotations

import pytest
from django.test import Client

from experiments.models import Study, User
from tests.experiments.lab import launched, record, runs_in_order

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(owner: User) -> Study:
    study = launched(owner, seeds=1, rounds=10)
    for run in runs_in_order(study):
        record(run, {"accuracy": [0.1] + [0.5] * 10, "bytes_up": [0.0] + [1e6] * 10})
    return study


@pytest.fixture
def client(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def test_any_study_has_a_page_of_displays(client: Client, study: Study) -> None:
    page = client.get(f"/studies/{study.pk}/displays?target=40").content.decode()

    assert "Rounds to 40 % test accuracy" in page
    assert f'data-figure="/studies/{study.pk}/displays/charts/traffic?"' in page
    assert f'data-figure="/compare/charts/curves?study={study.pk}&amp;metric=accuracy"' in page


def test_a_preset_shows_its_own_displays_of_the_chosen_study(client: Client, study: Study) -> None:
    page = client.get(f"/presets/mazarakis-2023?study={study.pk}").content.decode()

    assert "Accuracy: its best, and how steady it is" in page
    assert "displays/charts/traffic" not in page


def test_charts_come_as_json_and_csv(client: Client, study: Study) -> None:
    base = f"/studies/{study.pk}/displays/charts"
    assert client.get(f"{base}/traffic").json()["description"].startswith("Traffic of all rounds, MB. Upload of")
    assert client.get(f"{base}/final-bars.csv").content.decode().splitlines()[0] == "cell,part,mean,std,n,lost,missed"
    assert client.get(f"{base}/no-such").status_code == 404
    assert client.get("/studies/999/displays").status_code == 404


def test_a_study_without_rounds_says_when_displays_appear(client: Client, owner: User) -> None:
    page = client.get(f"/studies/{launched(owner).pk}/displays").content.decode()
    assert "Displays appear with the first measured rounds." in page


def test_visitors_are_sent_to_log_in(study: Study) -> None:
    assert Client().get(f"/studies/{study.pk}/displays").status_code == 302
