"""Data sets and partitions over REST."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client

from experiments.models import User
from tests.experiments import lab


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path))


@pytest.fixture
def client(viewer: User) -> Client:
    browser = Client()
    browser.force_login(viewer)
    return browser


def test_data_sets_say_what_they_are_and_what_to_do(client: Client) -> None:
    by_name = {each["name"]: each for each in client.get("/api/v1/datasets").json()}
    digits = by_name["digits"]
    assert (digits["ready"], digits["train"], digits["shape"]) == (True, 1437, [1, 8, 8])
    assert by_name["cifar10"]["ready"] is False
    assert by_name["cifar10"]["what_to_do"].startswith("CIFAR-10 is not here yet")
    assert by_name["femnist"]["parameters"] == {"name": "femnist", "subset": "digits"}


def test_a_runs_partition_has_counts_sizes_and_distances(client: Client, owner: User) -> None:
    study = lab.launched(owner, dataset={"name": "blobs"}, hybrid={"ratio": 0.1}, clients=4)
    run = lab.runs_in_order(study)[0]
    answer = client.get(f"/api/v1/runs/{run.pk}/partition").json()
    assert answer["run"] == run.pk
    assert answer["clients"] == [0, 1, 2, 3, -1]
    assert answer["sizes"] == [450, 450, 450, 450, 200]
    assert [sum(row) for row in answer["counts"]] == answer["sizes"]
    assert answer["shared"] == 200
    assert answer["warnings"] == ["Labels are spread evenly: this partition is IID in its labels."]


def test_strangers_and_unknown_runs_are_refused(client: Client) -> None:
    assert client.get("/api/v1/runs/999/partition").status_code == 404
    for address in ("/api/v1/datasets", "/api/v1/runs/1/partition"):
        assert Client().get(address).status_code == 401
