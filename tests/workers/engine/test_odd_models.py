"""A lab's own model may be of a kind that cannot be stacked: `auto` then computes it one client at a time."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from tests.workers.engine.odd_models import ODD_MODELS
from tests.workers.engine.tiny import distance, tiny, untimed
from workers.catalog import load_catalog
from workers.engine import simulate
from workers.errors import SpecError


@pytest.fixture(params=ODD_MODELS)
def model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Stands in for a model of the catalog: what a spec may name is settled when the program starts."""

    def build(shape: tuple[int, ...], classes: int, params: Any) -> nn.Module:
        return ODD_MODELS[request.param](shape[0], classes)

    monkeypatch.setattr(load_catalog().models["logistic"], "build", build)
    return str(request.param)


def odd(**changes: Any) -> dict[str, Any]:
    local = {"epochs": 2, "batch_size": 8, "optimizer": {"name": "sgd", "lr": 0.1}}
    return tiny(**{"rounds": 2, "local": local, "precision": "float32", "engine": "auto"} | changes)


def test_auto_takes_the_path_that_can_compute_it(model: str) -> None:
    result = simulate(odd())

    assert result.provenance["engine"] == "sequential"
    assert [record.round for record in result.history] == [0, 1, 2]


def test_cohort_refuses_it_and_says_what_to_set(model: str) -> None:
    with pytest.raises(SpecError) as refusal:
        simulate(odd(engine="cohort"))

    [problem] = refusal.value.errors
    assert problem.path == "engine"
    assert problem.message.startswith("This model cannot be computed for a stack of clients at once")
    assert problem.message.endswith("Choose engine: auto or sequential.")


@pytest.mark.parametrize("engine", ["auto", "sequential"])
def test_every_draw_has_a_key_whatever_was_drawn_before_and_on_however_many_threads(
    model: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = []
    for threads in ("1", "2", "4"):
        monkeypatch.setenv("TRIBUTARY_THREADS", threads)
        torch.rand(int(threads))
        before = torch.get_rng_state()
        results.append(simulate(odd(engine=engine, cohort=None)))
        assert torch.equal(before, torch.get_rng_state())

    assert untimed(results[0]) == untimed(results[1]) == untimed(results[2])
    assert distance(results[0], results[1]) == distance(results[0], results[2]) == 0
    assert distance(results[0], simulate(odd(engine=engine, cohort=None, seed=1))) > 0


@pytest.mark.parametrize("model", ["functional"], indirect=True)
def test_dropout_by_function_draws_another_mask_for_every_client_round_and_step(model: str) -> None:
    """Learning nothing, a round repeats the one before but for its draws."""
    still = {"epochs": 2, "batch_size": 60, "optimizer": {"name": "sgd", "lr": 1e-12}}

    result = simulate(odd(local=still, rounds=3, partition={"name": "iid"}, clients=2, cohort=None))

    losses = [values["train_loss"] for record in result.history[1:] for values in record.clients.values()]
    assert len(set(losses)) == 6


@pytest.mark.parametrize("strategy", load_catalog().strategies)
@pytest.mark.parametrize("model", ["functional", "transformer", "lstm"], indirect=True)
def test_every_strategy_computes_it_and_repeats_to_the_bit(model: str, strategy: str) -> None:
    spec = odd(strategy={"name": strategy})

    one, other = simulate(spec), simulate({**spec, "engine": "sequential"})

    assert one.provenance["engine"] == "sequential"
    assert untimed(one) == untimed(other)
    assert distance(one, other) == 0
