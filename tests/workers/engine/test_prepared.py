"""Nothing is prepared twice: what runs of one process share, how long, and what they never share."""

from __future__ import annotations

import gc
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import tiny, untimed
from workers.catalog import load_catalog
from workers.datasets.blobs import Blobs
from workers.engine import federation, prepared, simulate
from workers.engine.federation import Federation
from workers.engine.prepared import DATASETS, DEVICE_COPIES, DeviceCopies, RecentItems, prepared_federation
from workers.spec import RunSpec, parse_run


@pytest.fixture(autouse=True)
def nothing_prepared() -> Iterator[None]:
    DATASETS.items.clear()
    DEVICE_COPIES.copies.clear()
    yield
    DATASETS.items.clear()


@pytest.fixture
def preparations(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often data were loaded, turned into numbers and parted."""
    counts: Counter[str] = Counter()

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any, **fields: Any) -> Any:
            counts[name] += 1
            return function(*arguments, **fields)

        return count

    monkeypatch.setattr(Blobs, "load", counting("load", Blobs.load))
    for name in ("prepare_samples", "partition_samples"):
        monkeypatch.setattr(federation, name, counting(name, getattr(federation, name)))
    return counts


def share(**fields: Any) -> Federation:
    return prepared_federation(parse_run(tiny(**fields)))


def test_a_grid_prepares_its_data_once_and_a_federation_for_each_seed(preparations: Counter[str]) -> None:
    """Two strategies, two learning rates and two seeds are eight runs of two federations."""
    for strategy in ("fedavg", "fedprox"):
        for lr in (0.1, 0.2):
            for seed in (0, 1):
                local = {"epochs": 1, "batch_size": 4, "optimizer": {"name": "sgd", "lr": lr}}
                simulate(tiny(strategy={"name": strategy}, local=local, seed=seed, rounds=1), device="cpu")
    assert preparations == {"load": 2, "prepare_samples": 1, "partition_samples": 2}


@pytest.mark.parametrize(
    "fields",
    [
        {"model": {"name": "mlp-50"}},
        {"strategy": {"name": "scaffold"}},
        {"local": {"epochs": 7}},
        {"rounds": 9},
        {"cohort": 1},
        {"client_dropout": 0.5},
        {"stragglers": 0.5},
        {"evaluation": {"every": 3}},
        {"stop": {"target_accuracy": 0.9}},
        {"engine": "sequential"},
        {"precision": "float32"},
    ],
    ids=lambda fields: " ".join(fields),
)
def test_what_changes_nothing_in_a_federation_shares_it(fields: dict[str, Any]) -> None:
    assert share(**fields) is share()


@pytest.mark.parametrize(
    "fields",
    [
        {"seed": 1},
        {"clients": 4},
        {"partition": {"name": "iid"}},
        {"partition": {"name": "quantity-dirichlet", "beta": 2.0, "min_size": 2}},
        {"feature_noise": 0.1},
        {"hybrid": {"ratio": 0.5}},
        {"evaluation": {"on": "clients"}},
        {"evaluation": {"on": "clients", "held_out": 0.4}},
        {"evaluation": {"validation": 0.2}},
        {"dataset": {"name": "blobs", "shape": [4], "classes": 3, "train": 60, "test": 12, "normalise": "none"}},
        {"dataset": {"name": "blobs", "shape": [4], "classes": 3, "train": 60, "test": 12, "spread": 0.25}},
    ],
    ids=str,
)
def test_what_changes_a_federation_makes_another(fields: dict[str, Any]) -> None:
    assert share(**fields) is not share()


def test_every_field_of_a_spec_counts_unless_it_is_named() -> None:
    """A field that is added later makes federations of their own until somebody says that it changes none."""
    assert set(RunSpec.model_fields) >= prepared.WITHOUT_EFFECT
    assert {"dataset", "partition", "feature_noise", "hybrid", "clients", "seed"}.isdisjoint(prepared.WITHOUT_EFFECT)


def test_seeds_share_the_samples_and_noisy_ones_are_their_own() -> None:
    plain, other, noisy = share(), share(seed=1), share(feature_noise=0.1)
    assert plain.x is other.x
    assert plain.test_x is other.test_x
    assert noisy.x is not plain.x


def test_data_that_were_replaced_are_prepared_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    before = share()
    monkeypatch.setattr(Blobs, "checksum", lambda self, params: "replaced")
    assert share() is not before
    assert share().x is not before.x


def test_a_partition_of_another_version_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    before = share()
    monkeypatch.setattr(type(load_catalog().partitions["quantity-dirichlet"]), "version", 2)
    assert share() is not before


def test_of_one_data_set_sixteen_federations_stay_and_go_with_it() -> None:
    for seed in range(20):
        share(seed=seed)
    (data, _), *others = DATASETS.items.values()
    assert (len(data.federations.items), len(others)) == (16, 0)
    for classes in (4, 5, 6, 7):
        share(dataset={"name": "blobs", "shape": [4], "classes": classes, "train": 60, "test": 12})
    assert len(DATASETS.items) == 4
    assert data not in [kept for kept, _ in DATASETS.items.values()]


def test_recent_items_have_a_bound_of_bytes_and_of_their_number() -> None:
    items: RecentItems[int] = RecentItems(3, 100)
    for number, size in enumerate((40, 40, 40, 10, 10)):
        items.get(number, lambda number=number: number, lambda _, size=size: size)  # type: ignore[misc]
    assert (list(items.items), items.bytes) == ([2, 3, 4], 60)
    items.get(2, lambda: 2, lambda _: 40)
    items.get(5, lambda: 5, lambda _: 70)
    assert list(items.items) == [5]


def test_what_is_larger_than_the_bound_is_not_kept_unless_it_stays() -> None:
    items: RecentItems[str] = RecentItems(3, 100)
    assert items.get("noisy", lambda: "once", lambda _: 101) == "once"
    assert items.get("noisy", lambda: "twice", lambda _: 101) == "twice"
    items.get("data", lambda: "large", lambda _: 101, stays=True)
    assert list(items.items) == ["data"]


def test_a_copy_in_another_type_is_made_once_for_all_runs_and_goes_with_the_array() -> None:
    copies, array = DeviceCopies(), np.ones((2, 3), np.float32)
    first = copies.get(array, torch.device("cpu"), torch.float64)
    assert copies.get(array, torch.device("cpu"), torch.float64) is first
    assert len(copies.copies) == 1
    del array
    gc.collect()
    assert len(copies.copies) == 0


def test_a_tensor_that_is_the_array_itself_keeps_nothing_alive() -> None:
    copies, array = DeviceCopies(), np.ones((2, 3), np.float32)
    tensor = copies.get(array, torch.device("cpu"), torch.float32)
    assert (tensor.data_ptr(), len(copies.copies)) == (array.ctypes.data, 0)


def test_runs_in_float64_share_two_copies_the_samples_and_the_test_set() -> None:
    for seed in range(3):
        simulate(tiny(seed=seed, rounds=1), device="cpu")
    assert len(DEVICE_COPIES.copies) == 2


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_no_strategy_changes_what_runs_share(precision: str) -> None:
    """Every strategy runs on one federation, whose bytes are the same afterwards, and so is the first run's curve."""
    fields = {"evaluation": {"on": "both", "validation": 0.1}, "precision": precision, "rounds": 2, "engine": "auto"}
    before = simulate(tiny(**fields), device="cpu")
    shared = share(**fields)
    digest = digest_of(shared)
    names = [name for name in load_catalog().strategies if name not in ("flower", "composed")]
    for name in names:
        strategy = {"name": name, **({"malicious": 0} if "krum" in name else {})}
        simulate(tiny(**fields, strategy=strategy), device="cpu")
        assert share(**fields) is shared
    assert digest_of(shared) == digest
    assert untimed(simulate(tiny(**fields), device="cpu")) == untimed(before)


def digest_of(shared: Federation) -> str:
    arrays = [shared.x, shared.y, shared.test_x, shared.test_y, *shared.clients.arrays]
    vectors = [part for each in shared.clients for part in (each.train, each.validation, each.held_out)]
    return hashlib.sha256(b"".join(array.tobytes() for array in [*arrays, *vectors])).hexdigest()
