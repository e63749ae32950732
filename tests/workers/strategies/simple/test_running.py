"""Strategies in one short file compute what the built-in ones compute, and say what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.workers.engine.test_plugin_contract import crash_and_resume, let_fedavg_build
from tests.workers.engine.test_resume import bits
from tests.workers.engine.test_resume import curve as whole_curve
from tests.workers.engine.tiny import curve, distance, tiny, untimed
from tests.workers.strategies.by_hand import Server, answer, tensors
from tests.workers.strategies.simple.own import OwnStrategies
from workers.engine import simulate
from workers.engine.training.rule import ClientStore, LocalStep
from workers.errors import TributaryError
from workers.strategies._personal_layers import OwnLayers, keep_layers, last_layers, norm_layers
from workers.strategies.simple._clients import SimpleRule
from workers.streams import stream

MLP = {"name": "mlp-50", "norm": "none"}


def fields(**changes: Any) -> dict[str, Any]:
    return tiny(**{"rounds": 5, "stragglers": 0.4, "model": MLP, **changes})


@pytest.mark.parametrize("engine", ["cohort", "sequential"])
@pytest.mark.parametrize(
    ("own_name", "params", "built_in"),
    [
        ("fed-dyn", {"alpha": 0.3}, {"name": "feddyn", "alpha": 0.3}),
        ("fed-per", {}, {"name": "fedper"}),
        ("control-variates", {}, {"name": "scaffold", "option": 2}),
    ],
)
def test_the_documented_ones_equal_the_built_in_ones(
    own: OwnStrategies, own_name: str, params: dict[str, Any], built_in: dict[str, Any], engine: str
) -> None:
    strategy = own.documented(own_name)
    expected = simulate(fields(strategy=built_in, engine=engine), device="cpu")
    own.use(strategy, **params)

    result = simulate(fields(engine=engine), device="cpu")

    assert distance(result, expected) < 1e-10
    for mine, theirs in zip(untimed(result), untimed(expected), strict=True):
        assert mine == pytest.approx(theirs, abs=1e-10, nan_ok=True)


@pytest.mark.parametrize("name", ["fed-dyn", "fed-per", "control-variates"])
def test_they_resume_to_the_bit(own: OwnStrategies, name: str, tmp_path: Path) -> None:
    own.use(own.documented(name))
    spec = fields(precision="float32", rounds=6)
    whole = simulate(spec, device="cpu")

    resumed = crash_and_resume(spec, tmp_path / "checkpoints", 4)

    assert whole_curve(resumed.history) == whole_curve(whole.history)
    assert bits(resumed) == bits(whole)


def test_feddyns_server_worked_out_by_hand(own: OwnStrategies) -> None:
    """Two of four clients move from 0 to 2 and 4: h = -0.5 * 2/4 * 3 = -0.75, w = 3 + 0.75 / 0.5 = 4.5.

    Then from 4.5 to 4.5 both: h stays, and w = 4.5 + 1.5.
    """
    own.use(own.documented("fed-dyn"), alpha=0.5)
    server = Server({"name": "fedavg"}, tensors(w=[0.0]), samples={0: 1, 1: 3, 2: 2, 3: 2})

    assert server.round(answer(1, [2.0]), answer(3, [4.0])) == {"w": [4.5]}
    assert server.round(answer(1, [4.5]), answer(3, [4.5])) == {"w": [6.0]}


def work_at(params: list[list[float]], store: ClientStore, round: int = 1) -> Any:  # noqa: A002
    """Clients 7 and 9, which got w = 1; the rows of `params` are theirs."""
    return SimpleNamespace(
        round=round,
        clients=[7, 9],
        samples=[4, 6],
        steps=torch.tensor([2, 3]),
        anchor=tensors(w=[1.0]),
        params={"w": torch.tensor(params, dtype=torch.float64)},
        buffers={},
        received={},
        store=store,
        rule={},
    )


def test_feddyns_clients_worked_out_by_hand(own: OwnStrategies) -> None:
    """Client 7 has g = 0.25 and is at 3: 1 - 0.25 + 0.5 * 2 = 1.75; 9 has none and is at 1: its gradient stays 2.

    Afterwards g_7 = 0.25 - 0.5 * 2 = -0.75, and g_9 = 0. Then client 9 alone steps, at 2: 0 - 0 + 0.5 * 1 = 0.5.
    """
    strategy = own.documented("fed-dyn")
    rule, store = SimpleRule(strategy.configured(strategy.Params(alpha=0.5)), (), seed=0), ClientStore()
    store.kept[7] = {"state/g/w": torch.tensor([0.25], dtype=torch.float64)}
    work = work_at([[3.0], [1.0]], store)
    grads = {"w": torch.tensor([[1.0], [2.0]], dtype=torch.float64)}

    rule.start(work)
    rule.gradient(work, LocalStep(0, slice(0, 2), work.params, grads))
    rule.finish(work)

    assert grads["w"].tolist() == [[1.75], [2.0]]
    assert {client: each["state/g/w"].tolist() for client, each in store.kept.items()} == {7: [-0.75], 9: [0.0]}

    work = work_at([[1.0], [2.0]], store)
    alone = {"w": torch.zeros(1, 1, dtype=torch.float64)}
    rule.start(work)
    rule.gradient(work, LocalStep(0, torch.tensor([1]), {"w": work.params["w"][1:]}, alone))
    assert alone["w"].tolist() == [[0.5]]


EVERYTHING = """
bound: float = param(0.5)
client_state = {"seen": 0, "last": "model", "sum": "zeros"}
server_state = {"rounds": 0, "first": "model"}
broadcast = ("rounds", "first")

def before(self, client, w):
    client.last = w
    client.seen += 1
    return w + 0.001 * client.normal() * client.server.rounds

def gradient(self, client, grad, w):
    client.sum += grad
    return (self.bound / grad.norm()).clamp(max=1) * grad

def after_step(self, client, w):
    return w.clamp(-5, 5)

def after(self, client, w):
    client.send(loss=client.loss(w), moved=(w - client.last).norm(), slope=client.full_gradient().norm())
    client.send(sum=client.sum / client.steps)
    return w + 0.01 * (client.server.first - w) * client.samples / client.seen

def aggregate(self, server, replies):
    server.rounds += 1
    server.report(rounds=server.rounds, loss=replies["loss"].mean(), moved=replies["moved"].max())
    server.report(trained=replies.losses.max(), taken=replies.steps.sum(), slope=replies["slope"].max())
    step = replies["sum"].mean(replies.samples)
    return replies.mean(weights=1 / replies.w.norm()) - 0.01 * step + 0.001 * server.normal()
"""


def test_all_that_there_is_at_once_agrees_between_engines_and_resumes(own: OwnStrategies, tmp_path: Path) -> None:
    own.use(own.written(EVERYTHING))
    stacked = simulate(fields(), device="cpu")

    single = simulate(fields(engine="sequential"), device="cpu")
    resumed = crash_and_resume(fields(), tmp_path / "checkpoints", 3)

    assert distance(stacked, single) < 1e-10
    assert curve(stacked, "own.rounds") == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert curve(stacked, "own.taken") == curve(stacked, "local_steps")
    assert bits(resumed) == bits(stacked)
    assert whole_curve(resumed.history) == whole_curve(stacked.history)


def test_batch_statistics_are_averaged_by_samples(own: OwnStrategies) -> None:
    own.use(own.written("def aggregate(self, server, replies):\n    return server.w\n"))
    model = {"name": "mlp-50", "norm": "batch"}
    local = {"epochs": 1, "batch_size": 6, "optimizer": {"name": "sgd", "lr": 0.05}}

    still = simulate(fields(model=model, local=local, rounds=1), device="cpu").parameters

    own.monkeypatch.undo()
    moved = simulate(fields(model=model, local=local, rounds=1), device="cpu").parameters
    assert (still["2.running_mean"] == moved["2.running_mean"]).all()
    assert not (still["1.weight"] == moved["1.weight"]).all()


def test_private_norm_layers_are_fedbn(own: OwnStrategies) -> None:
    local = {"epochs": 1, "batch_size": 6, "optimizer": {"name": "sgd", "lr": 0.05}}
    spec = fields(model={"name": "mlp-50", "norm": "batch"}, local=local, partition={"name": "iid"})
    expected = simulate({**spec, "strategy": {"name": "fedbn"}}, device="cpu")
    own.use(own.written("private = norm_layers()\n"))

    result = simulate(spec, device="cpu")

    assert bits(result) == bits(expected)
    assert untimed(result) == untimed(expected)


@pytest.mark.parametrize(
    ("name", "choose"), [("fedper", lambda context: last_layers(context, 1)), ("fedbn", norm_layers)]
)
def test_private_layers_equal_a_server_and_a_rule_put_together_by_hand(
    own: OwnStrategies, name: str, choose: Any
) -> None:
    local = {"epochs": 1, "batch_size": 6, "optimizer": {"name": "sgd", "lr": 0.05}}
    spec = fields(model={"name": "mlp-50", "norm": "batch"}, local=local, partition={"name": "iid"})
    result = simulate({**spec, "strategy": {"name": name}}, device="cpu")
    let_fedavg_build(own.monkeypatch, lambda context: keep_layers(context, choose(context), OwnLayers(choose(context))))

    expected = simulate(spec, device="cpu")

    assert bits(result) == bits(expected)
    assert untimed(result) == untimed(expected)


def test_the_values_of_a_client_are_drawn_from_its_own_stream(own: OwnStrategies) -> None:
    strategy = own.written("def before(self, client, w):\n    return client.normal()\n")
    rule = SimpleRule(strategy.configured(strategy.Params()), (), seed=3)
    work = work_at([[0.0], [0.0]], ClientStore(), round=5)

    rule.start(work)

    drawn = [stream(3, "strategy", client=client, round=5).standard_normal() for client in (7, 9)]
    assert work.params["w"].flatten().tolist() == drawn


HOSTILE = {
    "def gradient(self, client, grad, w): return grad.norm()": (
        "What Own.gradient() returns must be weights, and not a tensor of shape (3,)."
    ),
    "def gradient(self, client, grad, w): return grad.map(lambda each: each.sum(0))": (
        "What Own.gradient() returns must have 1.weight of shape (3, 50, 4), and not a tensor of shape (50, 4)."
    ),
    "def gradient(self, client, grad, w): grad + w": (
        "What Own.gradient() returns must be weights, and not None (is a return missing?)."
    ),
    "def after(self, client, w): client.h = w": (
        "Own: client has no h. client_state declares nothing; besides, client has start, samples, steps, "
    ),
    "client_state = {'g': 'zeros'}\ndef after(self, client, w): client.g = 1.0": (
        "Own: client.g must be weights, and not 1.0."
    ),
    "client_state = {'k': 0}\ndef after(self, client, w): client.k = w": (
        "Own: client.k must be a number for each of 3 clients, and not <Weights of 3 clients: 1.weight (3, 50, 4), "
    ),
    "def after(self, client, w): self.seen = w": (
        "Own.seen cannot be assigned: clients are computed together and runs go on from checkpoints, so what is "
        "remembered is declared, as client_state or server_state."
    ),
    "def gradient(self, client, grad, w): return client.full_gradient()": (
        "Own: client.full_gradient() is for before() and after(), not for every step."
    ),
    "def gradient(self, client, grad, w): return grad + client.server.c": (
        "Own: the server sends no c. broadcast names nothing; it takes names of server_state."
    ),
    "def aggregate(self, server, replies): server.m = replies.mean()": (
        "Own: server has no m. server_state declares nothing; besides, server has w, clients, samples, round, report, "
    ),
    "def aggregate(self, server, replies): return replies.w": (
        "What Own.aggregate() returns must be one model, and not one for each client: take a mean of them."
    ),
    "def aggregate(self, server, replies): return replies['c']": (
        "Own: the clients sent no c: write client.send(c=...) in after()."
    ),
    "def aggregate(self, server, replies): replies.mean()": (
        "What Own.aggregate() returns must be weights, and not None (is a return missing?)."
    ),
}


@pytest.mark.parametrize(("body", "reason"), HOSTILE.items(), ids=range(len(HOSTILE)))
def test_what_is_wrong_in_a_method_ends_the_run_with_a_sentence(own: OwnStrategies, body: str, reason: str) -> None:
    own.use(own.written(body))

    with pytest.raises((TributaryError, AttributeError)) as refusal:
        simulate(fields(stragglers=0.0, local={"epochs": 1, "batch_size": 60}, rounds=1), device="cpu")

    assert reason in str(refusal.value)
