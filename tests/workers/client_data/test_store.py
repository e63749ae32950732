"""Client distributions are made once for what decides them, and without the engine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from workers.client_data import store
from workers.client_data.assignment import distinct_federations, federation_fields, federation_spec
from workers.errors import FederationError
from workers.home import ROOT

SPEC: dict[str, Any] = {"dataset": {"name": "blobs"}, "partition": {"name": "shards"}, "clients": 5}


def key(**changes: Any) -> str:
    return store.distribution_key(federation_spec({**SPEC, **changes}))


def test_only_what_decides_it_is_in_its_key() -> None:
    assert key(model={"name": "mlp-50"}, rounds=7, local={"epochs": 3}) == key()
    assert key(dataset={"name": "blobs", "normalise": "none"}) == key()
    changed = {
        key(seed=1),
        key(clients=6),
        key(feature_noise=0.1),
        key(hybrid={"ratio": 0.1}),
        key(partition={"name": "shards", "per_client": 3}),
        key(dataset={"name": "blobs", "spread": 1.0}),
    }
    assert len(changed | {key()}) == 7


def test_it_is_kept_and_read_back_equal() -> None:
    distribution = store.make_distribution(federation_spec(SPEC))
    assert store.read_distribution(key()) == distribution


def test_a_damaged_file_counts_as_none(home: Path) -> None:
    store.make_distribution(federation_spec(SPEC))
    (home / "portraits" / f"{key()}.json").write_text('{"dataset": "blo')
    assert store.read_distribution(key()) is None


def test_what_cannot_be_made_is_remembered() -> None:
    spec = federation_spec(
        {**SPEC, "partition": {"name": "label-dirichlet", "alpha": 0.01, "min_size": 39}, "clients": 50}
    )
    with pytest.raises(FederationError) as first:
        store.make_distribution(spec)
    with pytest.raises(FederationError) as second:
        store.read_distribution(store.distribution_key(spec))
    assert first.value.detail == second.value.detail


def test_the_oldest_are_forgotten(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_FILES", 3)
    for seed in range(5):
        store.make_distribution(federation_spec({**SPEC, "seed": seed}))
    assert len(list((home / "portraits").iterdir())) == 3
    assert store.read_distribution(key(seed=4)) is not None


def test_large_data_and_many_clients_are_left_to_another_process() -> None:
    assert store.is_quick(federation_spec(SPEC))
    assert not store.is_quick(federation_spec({**SPEC, "dataset": {"name": "blobs", "train": 200_000}}))
    assert not store.is_quick(federation_spec({**SPEC, "partition": {"name": "iid"}, "clients": 1501}))
    assert store.is_quick(federation_spec({**SPEC, "dataset": {"name": "digits"}}))


def test_a_process_of_its_own_makes_it_or_says_why_not(home: Path) -> None:
    assert answer_of_process({"spec": SPEC}) == {}
    assert store.read_distribution(key()) is not None
    assert answer_of_process({"spec": {**SPEC, "dataset": {"name": "mnist"}}})["error"].startswith(
        "MNIST is not here yet"
    )


def answer_of_process(request: dict[str, Any]) -> dict[str, str]:
    process = subprocess.run(
        [sys.executable, "-m", "workers.client_data"],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    answer: dict[str, str] = json.loads(process.stdout)
    return answer


def test_no_heavy_library_is_needed() -> None:
    code = (
        "import sys; from workers.client_data.store import *;"
        "from workers.client_data.assignment import federation_spec;"
        "make_distribution(federation_spec({'dataset': {'name': 'blobs', 'shape': [1, 4, 4]}}));"
        "print([name for name in ('torch', 'torchvision', 'flwr', 'ray', 'sklearn', 'scipy', 'PIL') "
        "if name in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout == "[]\n"


def test_blocks_offer_each_different_federation_once_at_its_first_seed() -> None:
    blocks = [
        {
            "dataset": {"name": "blobs"},
            "partition": [{"name": "iid"}, {"name": "shards", "per_client": [1, 2]}],
            "strategy": [{"name": "fedavg"}, {"name": "fedprox"}],
            "seeds": [3, 4],
        },
        {"dataset": {"name": "blobs"}, "seed": 3},
        {"dataset": {"name": "nothing"}},
        "no block",
    ]
    fields = [federation_fields(spec) for spec in distinct_federations(blocks)]
    assert [(each["partition"], each["seed"]) for each in fields] == [
        ({"name": "iid"}, 3),
        ({"name": "shards", "per_client": 1}, 3),
        ({"name": "shards", "per_client": 2}, 3),
    ]


@pytest.mark.parametrize(
    "blocks", [None, "text", [], [{}], [{"dataset": []}], [{"dataset": {"name": "blobs"}, "seeds": "x"}]]
)
def test_what_is_no_study_offers_nothing(blocks: Any) -> None:
    assert distinct_federations(blocks) == []
