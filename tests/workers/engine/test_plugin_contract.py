"""What a component promises is checked where it is used: partitions, servers that remember, rules that interfere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pytest
from flwr.app import RecordDict

from tests.workers.engine.test_resume import bits
from tests.workers.engine.test_resume import curve as whole_curve
from tests.workers.engine.tiny import curve, tiny
from workers.engine import simulate
from workers.engine.checkpoint import CheckpointPolicy
from workers.engine.federation import make_federation
from workers.engine.messages.arrays import Tensors
from workers.engine.records import Result, RoundRecord
from workers.engine.server.averaging import Averaging
from workers.engine.server.method import Method, MethodContext
from workers.engine.training.rule import LocalRule, LocalStep, LocalWork
from workers.errors import FederationError, TributaryError
from workers.partitions.iid import Iid
from workers.spec import parse_run
from workers.strategies.fedavg import FedAvg


def without_last(parts: list[np.ndarray]) -> list[np.ndarray]:
    return [*parts[:-1], parts[-1][:-2]]


def with_first_again(parts: list[np.ndarray]) -> list[np.ndarray]:
    return [*parts[:-1], np.append(parts[-1], [0, 1, 2])]


def lost_and_doubled(parts: list[np.ndarray]) -> list[np.ndarray]:
    return [np.append(parts[0][:-1], 20), *parts[1:]]


def with_empty_ones(parts: list[np.ndarray]) -> list[np.ndarray]:
    return [np.concatenate(parts), *(part[:0] for part in parts[1:])]


FAULTS = {
    without_last: "2 of 60 samples go to no client.",
    with_first_again: "3 samples go to more than one client.",
    lost_and_doubled: "1 of 60 samples go to no client, 1 samples go to more than one client.",
    with_empty_ones: "4 clients get nothing (1, 2, 3, 4).",
    lambda parts: parts[:-1]: "it makes 4 clients in place of 5, 12 of 60 samples go to no client.",
    lambda parts: [*parts[:-1], parts[-1] + 1]: (
        "1 indices lie outside of the 60 samples, 1 of 60 samples go to no client."
    ),
    lambda parts: [part.astype(float) for part in parts]: "its indices are no whole numbers (float64).",
}


@pytest.mark.parametrize(("parts", "fault"), FAULTS.items(), ids=range(len(FAULTS)))
def test_a_partition_that_breaks_its_promise_is_refused(
    parts: Any, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        Iid, "split", lambda self, data, params: parts(np.array_split(np.arange(len(data.labels)), data.clients))
    )

    with pytest.raises(FederationError) as refusal:
        make_federation(parse_run(tiny(partition={"name": "iid"})))

    assert str(refusal.value) == f"The partition iid does not hand out every sample once: {fault}"


def test_a_dirichlet_that_may_leave_a_client_empty_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = {"name": "quantity-dirichlet", "beta": 0.01, "min_size": 0}

    with pytest.raises(FederationError, match=r"quantity-dirichlet .* clients get nothing \(.*raise its min_size"):
        make_federation(parse_run(tiny(partition=partition)))


class Remembering(Averaging):
    """The mean, drawn towards what earlier rounds were: half of it kept in plain attributes."""

    def __init__(self, context: MethodContext) -> None:
        super().__init__(context)
        self.rounds = 0
        self.average: Tensors = {}
        self.last_weights = np.zeros(2)
        self.seen: deque[tuple[int, float]] = deque(maxlen=2)
        self.rng = np.random.default_rng(5)

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        mean = self.mean(replies)
        self.rounds += 1
        self.last_weights = self.last_weights * 0.5 + self.rng.random(2)
        self.seen.append((self.rounds, float(self.last_weights[0])))
        share = 1 / (self.rounds + len(self.seen) + float(self.last_weights.sum()))
        self.average = {
            name: share * value + (1 - share) * self.average.get(name, value) for name, value in mean.items()
        }
        return self.average


class Counting(LocalRule):
    """A rule that remembers on itself in how many rounds it was started."""

    def __init__(self) -> None:
        self.rounds: set[int] = set()

    def start(self, work: LocalWork) -> None:
        self.rounds.add(work.round)
        for values in work.params.values():
            values.mul_(1 + 0.01 * len(self.rounds))


class Moments:
    def __init__(self) -> None:
        self.rounds = 0


class Hiding(Averaging):
    """What it remembers is an object that nobody can save."""

    def __init__(self, context: MethodContext) -> None:
        super().__init__(context)
        self.moments = Moments()

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        self.moments.rounds += 1
        return self.mean(replies)


def let_fedavg_build(monkeypatch: pytest.MonkeyPatch, make: Callable[[MethodContext], Method]) -> None:
    monkeypatch.setattr(FedAvg, "build", lambda self, params, context: make(context))


def crash_and_resume(spec: dict[str, Any], folder: Path, number: int) -> Result:
    def crash(record: RoundRecord) -> None:
        if record.round == number:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(spec, checkpoint=CheckpointPolicy(folder, every=1), on_round=crash, device="cpu")
    return simulate(spec, checkpoint=folder, device="cpu")


@pytest.mark.parametrize(
    "make",
    [lambda context: Method(Remembering(context)), lambda context: Method(Averaging(context), Counting())],
    ids=["server", "rule"],
)
def test_what_is_remembered_outside_of_state_survives_a_resume(
    make: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    let_fedavg_build(monkeypatch, make)
    spec = tiny(rounds=6)
    whole = simulate(spec, device="cpu")

    resumed = crash_and_resume(spec, tmp_path, 4)

    assert whole_curve(resumed.history) == whole_curve(whole.history)
    assert bits(resumed) == bits(whole)


def test_a_strategy_of_flowers_own_goes_on_with_its_moments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from flwr.serverapp.strategy import FedAdam

    adam = {"min_train_nodes": 1, "min_evaluate_nodes": 1, "min_available_nodes": 1, "weighted_by_key": "num-examples"}
    let_fedavg_build(monkeypatch, lambda context: Method(FedAdam(**adam)))
    spec = tiny(rounds=6, cohort=5)
    whole = simulate(spec, device="cpu")

    resumed = crash_and_resume(spec, tmp_path, 4)

    assert bits(resumed) == bits(whole)


def test_what_cannot_be_saved_is_refused_at_the_first_checkpoint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    let_fedavg_build(monkeypatch, lambda context: Method(Hiding(context)))
    policy = CheckpointPolicy(tmp_path, every=2, on_unsaved=lambda number, error: None)
    records: list[RoundRecord] = []

    with pytest.raises(TributaryError) as refusal:
        simulate(tiny(), checkpoint=policy, on_round=records.append, device="cpu")

    assert records[-1].round == 2
    assert str(refusal.value) == (
        "Hiding.moments changes from round to round, and a checkpoint cannot hold it (of type Moments), so that a run "
        "could not go on from one: keep tensors in `self.state`, or numbers, texts, arrays, tensors, and lists or "
        "dicts of these in attributes."
    )


class Scheduled(Averaging):
    """What it goes through round by round is a generator, which nobody can look into."""

    def __init__(self, context: MethodContext) -> None:
        super().__init__(context)
        self.lock = Lock()
        self.factors = (0.9**each for each in range(100))

    def combine(self, server_round: int, replies: Sequence[RecordDict]) -> Tensors:
        with self.lock:
            factor = next(self.factors)
        return {name: factor * value for name, value in self.mean(replies).items()}


def test_what_nobody_can_look_into_is_refused_rather_than_lost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    let_fedavg_build(monkeypatch, lambda context: Method(Scheduled(context)))

    with pytest.raises(TributaryError, match=r"^Scheduled\.factors may change unseen .* \(of type generator\)"):
        simulate(tiny(), checkpoint=CheckpointPolicy(tmp_path, every=1), device="cpu")


@pytest.mark.parametrize(("name", "arguments"), [("FedAvgM", {"server_momentum": 0.9}), ("FedYogi", {})])
def test_strategies_of_flowers_own_keep_their_types_and_their_records(
    name: str, arguments: dict[str, float], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As a component of a lab's own may build them, without `name: flower`."""
    import flwr.serverapp.strategy as flower

    nodes: Any = {"min_train_nodes": 1, "min_available_nodes": 1}
    let_fedavg_build(monkeypatch, lambda context: Method(getattr(flower, name)(**nodes, **arguments)))
    spec = tiny(rounds=6, cohort=5, precision="float32")
    whole = simulate(spec, device="cpu")

    resumed = crash_and_resume(spec, tmp_path, 4)

    assert bits(resumed) == bits(whole)
    assert {each.dtype.name for each in whole.parameters.values()} == {"float32"}


class Plain(LocalRule):
    """Overrides nothing."""


class Halved(LocalRule):
    """Halves every gradient, and says so nowhere."""

    def gradient(self, work: LocalWork, step: LocalStep) -> None:
        for gradient in step.grads.values():
            gradient.mul_(0.5)


class Shrinking(LocalRule):
    def stepped(self, work: LocalWork, step: LocalStep) -> None:
        for values in step.params.values():
            values.mul_(0.9)


class Silenced(Halved):
    changes_gradients = False


class HalvedAgain(Silenced):
    def gradient(self, work: LocalWork, step: LocalStep) -> None:
        super().gradient(work, step)


class MixedIn:
    def gradient(self, work: LocalWork, step: LocalStep) -> None: ...


class FromMixIn(MixedIn, LocalRule): ...


class Joined(Plain, Halved): ...


def test_a_rule_that_overrides_gradient_or_stepped_changes_them() -> None:
    flags = {
        each: (each.changes_gradients, each.changes_steps)
        for each in (LocalRule, Halved, Shrinking, Silenced, HalvedAgain, FromMixIn, Joined)
    }
    assert flags == {
        LocalRule: (False, False),
        Halved: (True, False),
        Shrinking: (False, True),
        Silenced: (False, False),
        HalvedAgain: (True, False),
        FromMixIn: (True, False),
        Joined: (True, False),
    }


def test_half_of_every_gradient_is_half_the_learning_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    local = {"epochs": 2, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 0.05}}

    plain = simulate(tiny(local=local), device="cpu")
    let_fedavg_build(monkeypatch, lambda context: Method(Averaging(context), Halved()))
    halved = simulate(tiny(), device="cpu")

    assert curve(halved, "loss") == pytest.approx(curve(plain, "loss"), abs=1e-12)
