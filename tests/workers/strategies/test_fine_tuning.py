"""FedAvg with fine-tuning: the global model is FedAvg's, and each client's own is measured beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.workers.engine.test_resume import bits, stop_and_resume
from tests.workers.engine.test_resume import curve as whole_curve
from tests.workers.engine.tiny import curve, tiny
from tests.workers.strategies.test_clients_by_loop import ROUNDS, Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.engine.server.fine_tuning import FineTuner
from workers.engine.setup import make_setup
from workers.spec import parse_run


def test_one_step_from_zero_worked_out_by_hand() -> None:
    """At zero all three classes have 1/3. A client of class 0 alone has the gradient (-2/3, 1/3, 1/3) of the biases."""
    fields = {**spec_of({"name": "fedavg-ft"}), "clients": 3, "partition": {"name": "classes-per-client", "k": 1}}
    setup = make_setup(parse_run(fields), torch.device("cpu"))
    assert setup.method.fine_tune is not None
    tuner = FineTuner(setup.method.fine_tune, setup, "cohort")
    try:
        models = tuner.models(1, {name: torch.zeros_like(value) for name, value in setup.initial.items()}, [0, 2])
    finally:
        tuner.close()

    biases = {client: sorted(model["1.bias"].tolist()) for client, model in models.items()}
    assert biases == {0: pytest.approx([-0.1, -0.1, 0.2]), 2: pytest.approx([-0.1, -0.1, 0.2])}


def test_it_is_fedavg_and_every_client_fine_tunes_the_new_model_by_plain_loops() -> None:
    fields = spec_of({"name": "fedavg-ft", "epochs": 2})
    reference = Reference(fields)
    x, y = reference.federation.test_x.astype(np.float64), reference.federation.test_y
    expected = []
    for _ in range(ROUNDS):
        reference.model = reference.mean([reference.descend(client) for client in range(5)])
        own = [reference.descend(client, steps=2) for client in range(5)]
        expected.append(np.mean([float(np.mean((x @ w.T + b).argmax(1) == y)) for w, b in own]))

    result, plain = simulate(fields), simulate({**fields, "strategy": {"name": "fedavg"}})

    assert_equal_models(result, reference)
    assert bits(result) == bits(plain)
    assert curve(result, "personal_accuracy")[1:] == pytest.approx(expected)
    for metric in ("accuracy", "loss", "bytes_up", "bytes_down", "local_steps"):
        assert curve(result, metric) == curve(plain, metric)


def test_only_those_who_evaluate_fine_tune_and_only_when_it_is_due() -> None:
    evaluation = {"on": "clients", "clients": "cohort", "held_out": 0.3, "every": 2}
    result = simulate(tiny(strategy={"name": "fedavg-ft"}, rounds=3, evaluation=evaluation, partition={"name": "iid"}))

    assert ["personal_accuracy" in record.metrics for record in result.history] == [False, False, True, True]


def test_engines_agree_and_a_run_goes_on_to_the_bit() -> None:
    fields = tiny(strategy={"name": "fedavg-ft"}, stragglers=0.4, rounds=5, model={"name": "mlp-50"})

    check_engines(fields)
    check_resume(fields)
    one, other = (curve(simulate({**fields, "engine": engine}), "personal_loss") for engine in ("cohort", "sequential"))
    assert len(one) == 6
    assert one == pytest.approx(other, rel=1e-12)


def test_a_stop_while_clients_fine_tune_leaves_no_trace(tmp_path: Path) -> None:
    """Of 48 steps in a round the last 30 fine-tune, and the 30 of round 0: stops in the training of round 1, in the

    fine-tuning of round 1 and in that of round 2, with an optimizer whose moments are kept from round to round.
    """
    local = {"epochs": 1, "batch_size": 2, "optimizer": {"name": "sgd", "lr": 0.1, "momentum": 0.9}}
    fields = tiny(
        strategy={"name": "fedavg-ft"},
        partition={"name": "iid"},
        local={**local, "keep_optimizer": True},
        rounds=4,
        engine="sequential",
    )
    expected = simulate(fields, device="cpu")

    for steps in (45, 75, 110):
        _, result = stop_and_resume(fields, tmp_path / str(steps), steps=steps)

        assert whole_curve(result.history) == whole_curve(expected.history)
        assert bits(result) == bits(expected)
