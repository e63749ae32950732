"""FedBN, FedPer, FedRep and Ditto: what stays with the clients, and what the others get."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.test_resume import bits
from tests.workers.engine.tiny import curve, tiny
from tests.workers.strategies.test_clients_by_loop import LR, ROUNDS, STEPS, Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.engine.server.method import MethodContext
from workers.engine.setup import make_setup
from workers.engine.training.rule import LocalStep
from workers.errors import SpecError
from workers.spec import parse_run
from workers.strategies._personal_layers import HeadThenBase, last_layers, norm_layers

LOCAL = {"epochs": 1, "batch_size": 6, "optimizer": {"name": "sgd", "lr": 0.05}}


def spec(name: str, norm: str = "batch", **strategy: Any) -> dict[str, Any]:
    model = {"name": "mlp-50", "norm": norm}
    return tiny(strategy={"name": name, **strategy}, model=model, local=LOCAL, cohort=None, partition={"name": "iid"})


def context(fields: dict[str, Any]) -> MethodContext:
    setup = make_setup(parse_run(fields), torch.device("cpu"))
    return MethodContext(setup.spec, setup.initial, tuple(setup.network.buffers))


def test_batch_normalisation_is_known_by_its_statistics_and_the_last_layers_by_their_order() -> None:
    """Linear 1, batch norm 2, linear 4."""
    own = context(spec("fedbn"))

    assert norm_layers(own) == ["2.weight", "2.bias", "2.running_mean", "2.running_var", "2.num_batches_tracked"]
    assert last_layers(own, 1) == ["4.weight", "4.bias"]
    assert norm_layers(context(spec("fedbn", "none"))) == []


@pytest.mark.parametrize("name", ["fedbn", "fedper"])
def test_clients_share_the_other_layers_and_have_their_own_of_these(name: str) -> None:
    own = context(spec(name))
    kept = norm_layers(own) if name == "fedbn" else last_layers(own, 1)

    model = simulate(spec(name)).parameters

    for parameter in own.initial:
        values = [model[f"client.{client}/{parameter}"] for client in range(5)]
        same = all(np.array_equal(values[0], each) for each in values[1:])
        assert same == (parameter not in kept or parameter.endswith("num_batches_tracked"))


def test_what_stays_is_not_counted() -> None:
    """The last layer of 50 values for 3 classes, with biases, in double precision, of five clients both ways."""
    whole, base = simulate(spec("fedavg", "none")), simulate(spec("fedper", "none"))

    for way in ("bytes_up", "bytes_down"):
        assert curve(whole, way)[1] - curve(base, way)[1] == 5 * (50 * 3 + 3) * 8


def test_fedbn_without_batch_normalisation_is_fedavg() -> None:
    plain, own = simulate(spec("fedavg", "none")), simulate(spec("fedbn", "none"))

    assert curve(own, "accuracy") == pytest.approx(curve(plain, "accuracy"))
    assert own.parameters["client.3/1.weight"].tobytes() == plain.parameters["1.weight"].tobytes()


def test_all_layers_kept_are_local_training_alone() -> None:
    alone, kept = simulate(spec("local-only")), simulate(spec("fedper", layers=3))

    assert {name: value for name, value in bits(kept).items() if "num_batches" not in name} == {
        name: value for name, value in bits(alone).items() if "num_batches" not in name
    }


def personal_models(fields: dict[str, Any], name: str) -> list[np.ndarray]:
    parameters = simulate(fields).parameters
    return [parameters[f"client.{client}/{name}"] for client in range(5)]


def test_fedrep_without_steps_for_the_head_never_moves_it_whatever_momentum_and_weight_decay_do() -> None:
    local = {**LOCAL, "epochs": 2, "optimizer": {"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.1}}
    fields = {**spec("fedrep", "none", head_share=0.0), "local": local}
    initial = context(fields).initial

    heads = personal_models(fields, "3.weight")
    bases = personal_models(fields, "1.weight")

    assert all(np.array_equal(head, initial["3.weight"].numpy()) for head in heads)
    assert not np.array_equal(bases[0], initial["1.weight"].numpy())


def test_fedreps_head_then_base_worked_out_by_hand() -> None:
    """Clients of 4 and 2 steps, share 0.5: the first client's head has two steps, the second's one.

    A step takes 1 (the gradient) and 0.25 (a decay, which no gradient shows) from what moves.
    """
    rule, steps = HeadThenBase(["head"], 0.5), torch.tensor([4, 2])
    work = SimpleNamespace(steps=steps, rule={})
    params = {"base": torch.zeros(2, 1), "head": torch.zeros(2, 1)}
    seen = []
    for step in range(2):
        grads = {name: torch.ones(2, 1) for name in params}
        local_step = LocalStep(step, slice(0, 2), params, grads)
        rule.gradient(work, local_step)  # type: ignore[arg-type]
        for name, value in params.items():
            value.sub_(grads[name]).sub_(0.25)  # and a decay of 0.25, whatever the gradient
        rule.stepped(work, local_step)  # type: ignore[arg-type]
        seen.append({name: value.flatten().tolist() for name, value in params.items()})

    assert seen == [
        {"base": [0.0, 0.0], "head": [-1.25, -1.25]},
        {"base": [0.0, -1.25], "head": [-2.5, -1.25]},
    ]


def test_fedrep_by_plain_loops() -> None:
    """Of four full-batch steps one is the head's and three are the base's; each client keeps its head."""
    strategy = {"name": "fedrep", "head_share": 0.25}
    fields = {**spec_of(strategy), "model": {"name": "mlp", "hidden": [8]}}
    setup = make_setup(parse_run(fields), torch.device("cpu"))
    federation, clients = setup.federation, setup.federation.clients
    *base, weight, bias = setup.initial.values()
    heads = [[weight, bias] for _ in clients]
    shares = np.array([len(client.train) for client in clients]) / sum(len(client.train) for client in clients)
    for _ in range(ROUNDS):
        bases = []
        for client in range(5):
            chosen = clients[client].train
            x, y = torch.tensor(federation.x[chosen]).double(), torch.tensor(federation.y[chosen]).long()
            own = [*base, *heads[client]]
            for moving in ((2, 3), (0, 1), (0, 1), (0, 1)):
                leaves = [value.clone().requires_grad_() for value in own]
                logits = torch.relu(x @ leaves[0].T + leaves[1]) @ leaves[2].T + leaves[3]
                grads = torch.autograd.grad(torch.nn.functional.cross_entropy(logits, y), leaves)
                own = [own[at] - LR * grads[at] if at in moving else own[at] for at in range(4)]
            bases.append(own[:2])
            heads[client] = own[2:]
        base = [sum(s * each[at] for s, each in zip(shares, bases, strict=True)) for at in range(2)]  # type: ignore[misc]

    parameters = simulate(fields).parameters

    for client in range(5):
        for name, expected in zip(setup.initial, [*base, *heads[client]], strict=True):
            np.testing.assert_allclose(parameters[f"client.{client}/{name}"], expected.numpy(), rtol=0, atol=1e-12)


def test_ditto_is_fedavg_with_own_models_by_plain_loops() -> None:
    pull, fields = 0.6, spec_of({"name": "ditto", "pull": 0.6})
    reference = Reference(fields)
    own = [[value.copy() for value in reference.model] for _ in range(5)]
    for _ in range(ROUNDS):
        for client in range(5):
            for _ in range(STEPS):
                grads = reference.gradient(client, own[client])
                held = zip(own[client], grads, reference.model, strict=True)
                own[client] = [v - LR * (g + pull * (v - w)) for v, g, w in held]
        reference.model = reference.mean([reference.descend(client) for client in range(5)])
    x, y = reference.federation.test_x.astype(np.float64), reference.federation.test_y
    expected = [float(np.mean((x @ w.T + b).argmax(1) == y)) for w, b in own]

    result, plain = simulate(fields), simulate({**fields, "strategy": {"name": "fedavg"}})

    assert_equal_models(result, reference)
    assert bits(result) == bits(plain)
    assert result.history[-1].metrics["personal_accuracy"] == pytest.approx(np.mean(expected))
    for metric in ("accuracy", "loss", "bytes_up", "bytes_down", "local_steps"):
        assert curve(result, metric) == curve(plain, metric)


def test_a_pull_of_zero_is_local_training_alone_beside_fedavg() -> None:
    ditto, alone = simulate(spec("ditto", pull=0.0)), simulate(spec("local-only"))

    assert curve(ditto, "personal_loss") == curve(alone, "loss")


@pytest.mark.parametrize("name", ["fedrep", "ditto"])
def test_engines_agree_and_a_run_goes_on_to_the_bit(name: str) -> None:
    fields = {**spec(name), "stragglers": 0.4, "cohort": 3, "rounds": 5}

    check_engines(fields)
    check_resume(fields)


def test_ditto_keeps_no_optimizer() -> None:
    with pytest.raises(SpecError, match="cannot serve both"):
        parse_run({**spec("ditto"), "local": {**LOCAL, "keep_optimizer": True}})
