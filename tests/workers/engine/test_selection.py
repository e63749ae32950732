"""Who takes part in a round where cohorts are not drawn uniformly."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from tests.workers.engine.test_resume import bits
from tests.workers.engine.tiny import curve, tiny
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.engine.federation import make_federation
from workers.errors import SpecError
from workers.selection.selections import BySize, Draw, LossBased, PowerOfChoice, RoundRobin, by_weight
from workers.spec import canonical_hash, parse_run
from workers.streams import stream

LOSSES = np.array([0.1, 5.0, 0.2, 3.0, 4.0])


def draw(number: int = 1, count: int = 2, sizes: Any = (1, 1, 1, 1, 96)) -> Draw:
    return Draw(
        np.arange(5),
        np.array(sizes),
        count,
        number,
        stream(0, "sampling", round=number),
        stream(0, "sampling"),
        lambda clients: LOSSES[clients],
    )


def test_power_of_choice_takes_the_candidates_with_the_highest_losses() -> None:
    assert PowerOfChoice(candidates=5).choose(draw()).tolist() == [1, 4]
    assert PowerOfChoice(candidates=5).choose(draw(count=3)).tolist() == [1, 4, 3]


def test_large_clients_come_more_often_by_size() -> None:
    """One of five has 96 of 100 samples: it is the first of two draws in 96 % of the rounds, and the second else."""
    times = Counter(client for number in range(1, 501) for client in BySize().choose(draw(number)).tolist())

    assert times[4] > 490
    assert sum(times.values()) == 1_000


def test_losses_are_chances() -> None:
    times = Counter(LossBased().choose(draw(number, count=1)).item() for number in range(1, 2_001))

    assert [times[client] / 2_000 for client in range(5)] == pytest.approx((LOSSES / LOSSES.sum()).tolist(), abs=0.03)


def test_weights_that_say_nothing_leave_everybody_the_same_chance() -> None:
    rng = np.random.default_rng(0)

    assert sorted(by_weight(rng, np.arange(3), 3, np.array([np.nan, 0.0, 1.0])).tolist()) == [0, 1, 2]


def test_in_turn_everybody_was_there_before_anybody_comes_again() -> None:
    turns = [RoundRobin().choose(draw(number)).tolist() for number in range(1, 6)]

    assert Counter(client for turn in turns for client in turn) == dict.fromkeys(range(5), 2)
    assert len({client for turn in turns[:2] for client in turn}) == 4


@pytest.mark.parametrize("name", ["by-size", "round-robin", "power-of-choice", "loss-based"])
def test_the_engines_agree_and_a_run_goes_on_to_the_bit(name: str) -> None:
    candidates = {"candidates": 4} if name == "power-of-choice" else {}
    spec = tiny(selection={"name": name, **candidates}, cohort=2, rounds=5, stragglers=0.5)

    check_engines(spec)
    check_resume(spec)
    assert all(len(record.cohort) == 2 for record in simulate(spec).history[1:])


def test_a_run_takes_those_on_whose_data_its_model_does_worst() -> None:
    """All five are asked: three models of 15 values to those that stay away, and five numbers back."""
    spec = tiny(selection={"name": "power-of-choice", "candidates": 5}, cohort=2, rounds=1)
    result, plain = simulate(spec), simulate(tiny(cohort=2, rounds=1))
    start = simulate({**spec, "local": {"optimizer": {"name": "sgd", "lr": 1e-300}}})
    federation = make_federation(parse_run(spec))
    w, b = start.parameters["1.weight"], start.parameters["1.bias"]
    losses = []
    for client in federation.clients:
        scores = federation.x[client.train].astype(np.float64) @ w.T + b
        chosen = scores[np.arange(len(client.train)), federation.y[client.train]]
        losses.append(float(np.mean(np.log(np.exp(scores).sum(1)) - chosen)))

    assert result.history[1].cohort == tuple(sorted(np.argsort(losses)[-2:].tolist()))
    assert curve(result, "bytes_down")[1] - curve(plain, "bytes_down")[1] == 3 * 15 * 8
    assert curve(result, "bytes_up")[1] - curve(plain, "bytes_up")[1] == 5 * 8


def test_uniform_is_the_run_as_it_always_was() -> None:
    plain, named = tiny(), tiny(selection={"name": "uniform"})

    assert canonical_hash(parse_run(plain)) == canonical_hash(parse_run(named))
    assert bits(simulate(plain)) == bits(simulate(named))


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"selection": {"name": "power-of-choice", "candidates": 2}}, "selection.candidates", "3 clients take part"),
        ({"strategy": {"name": "clustered-fedavg"}}, "selection", "in its own way"),
        (
            {
                "strategy": {"name": "composed", "aggregate": {"name": "uniform"}},
                "privacy": {"name": "central", "noise": 1.0},
            },
            "selection",
            "drawn uniformly",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(SpecError) as refusal:
        parse_run(tiny(**{"selection": {"name": "by-size"}, **changes}))

    (problem,) = refusal.value.errors
    assert problem.path == path
    assert words in problem.message
