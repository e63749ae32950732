"""Malicious clients: who they are, what they train on and send, with numbers worked out by hand."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import curve, tiny, untimed
from tests.workers.strategies.test_clients_by_loop import ROUNDS, Reference, assert_equal_models, spec_of
from workers.attacks.choice import ATTACKS
from workers.attacks.data_attacks import LabelFlip
from workers.attacks.update_attacks import SignFlip
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.engine.federation import make_federation
from workers.engine.poisoning import flip_success
from workers.engine.update_attacks import LittleIsEnough, Noise, OpposeMean, Scale, safe_deviations
from workers.errors import SpecError
from workers.spec import canonical_hash, parse_run
from workers.streams import stream

MALICIOUS = (1, 2)
"""Two of five clients with seed 0."""
NAMES = [attack.model_fields["name"].default for attack in ATTACKS]


def attacked(name: str, **options: Any) -> dict[str, Any]:
    return {"name": name, "share": 0.4, **({"size": 2} if name == "backdoor" else {}), **options}


def test_who_is_malicious_follows_from_the_seed_and_a_larger_share_only_adds() -> None:
    clients = np.arange(10)

    assert SignFlip(share=0.2).malicious_clients(0, clients).tolist() == [5, 6]
    assert SignFlip(share=0.4).malicious_clients(0, clients).tolist() == [1, 2, 5, 6]
    assert SignFlip(share=0.19).malicious_clients(0, clients).tolist() in ([5], [6])
    assert SignFlip(share=0.0).malicious_clients(0, clients).tolist() == []
    assert LabelFlip(share=0.4).malicious_clients(0, np.arange(5)).tolist() == list(MALICIOUS)


@pytest.mark.parametrize("name", NAMES)
def test_a_share_of_nothing_is_the_run_without_an_attack(name: str) -> None:
    """Cohorts, batches and partition are drawn from streams of their own."""
    plain, none = simulate(tiny()), simulate(tiny(attack=attacked(name, share=0.0)))

    assert none.history[-1].metrics["attack.clients"] == 0.0
    for one, other in zip(untimed(plain), untimed(none), strict=True):
        assert {key: value for key, value in other.items() if not key.startswith("attack.")} == one
    assert [each.cohort for each in plain.history] == [
        each.cohort for each in simulate(tiny(attack=attacked(name))).history
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_attack_agrees_between_engines_and_goes_on_to_the_bit(name: str) -> None:
    spec = tiny(attack=attacked(name), cohort=4, rounds=5, model={"name": "mlp-50"})

    check_engines(spec)
    check_resume(spec)


def stack(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).view(-1, 1)


def test_what_malicious_clients_send() -> None:
    """The server sent 1; two malicious clients moved to 2 and 4, three honest ones to 3, 5 and 7."""
    sent, own, honest = torch.tensor([1.0], dtype=torch.float64), stack(2, 4), stack(3, 5, 7)

    assert Scale(-1.0).value(sent, own, honest).flatten().tolist() == [0.0, -2.0]
    assert Scale(10.0).value(sent, own, honest).flatten().tolist() == [11.0, 31.0]
    assert OpposeMean(0.5).value(sent, own, honest).flatten().tolist() == [-1.0, -1.0]
    deviation = (8 / 3) ** 0.5
    assert LittleIsEnough(1.5).value(sent, own, honest).flatten().tolist() == pytest.approx([5 - 1.5 * deviation] * 2)


def test_alie_stays_where_enough_honest_clients_are_further_away() -> None:
    """The paper's example has n = 50 and m = 24: s = 26 - 24 = 2, so the quantile of 24 / 26, which is 1.43."""
    assert safe_deviations(26, 24) == pytest.approx(NormalDist().inv_cdf(24 / 26))
    assert safe_deviations(26, 24) == pytest.approx(1.426, abs=1e-3)
    assert safe_deviations(10, 0) == 0.0


def test_gaussian_noise_has_its_deviation_and_every_client_its_own() -> None:
    sent = {"w": torch.full((10_000,), 3.0, dtype=torch.float64)}
    streams = [stream(0, "attack", client=client, round=1) for client in (4, 5)]

    noisy = Noise(0.5).poisoned(sent, {}, {}, streams)["w"]

    assert noisy.shape == (2, 10_000)
    assert noisy.mean(1).tolist() == pytest.approx([3.0, 3.0], abs=0.02)
    assert noisy.std(1).tolist() == pytest.approx([0.5, 0.5], abs=0.012)
    assert not torch.equal(noisy[0], noisy[1])


def test_sign_flipping_clients_equal_plain_loops() -> None:
    spec = {**spec_of({"name": "fedavg"}), "attack": attacked("sign-flip", scale=2.0)}
    reference = Reference({key: value for key, value in spec.items() if key != "attack"})
    for _ in range(ROUNDS):
        models = [reference.descend(client) for client in range(5)]
        for client in MALICIOUS:
            models[client] = [w - 2.0 * (m - w) for w, m in zip(reference.model, models[client], strict=True)]
        reference.model = reference.mean(models)

    assert_equal_models(simulate(spec), reference)


def test_only_what_malicious_clients_train_on_has_other_labels() -> None:
    plain = make_federation(parse_run(tiny(evaluation={"validation": 0.3})))
    flipped = make_federation(parse_run(tiny(evaluation={"validation": 0.3}, attack=attacked("label-flip"))))

    for client in plain.clients:
        expected = 2 - plain.y[client.train] if client.index in MALICIOUS else plain.y[client.train]
        assert flipped.y[client.train].tolist() == expected.tolist()
        assert flipped.y[client.validation].tolist() == plain.y[client.validation].tolist()
    assert np.array_equal(flipped.x, plain.x)


def test_one_class_may_be_called_another() -> None:
    spec = parse_run(tiny(attack=attacked("label-flip", source=1, target=0)))
    federation, plain = make_federation(spec), make_federation(parse_run(tiny()))
    own = plain.clients[1].train

    assert federation.y[own].tolist() == [0 if label == 1 else label for label in plain.y[own].tolist()]


def test_a_backdoor_is_put_on_half_of_the_samples_of_malicious_clients() -> None:
    spec = tiny(dataset={"name": "blobs", "shape": [1, 8, 8], "classes": 3, "train": 60, "test": 12})
    plain = make_federation(parse_run(spec))
    poisoned = make_federation(parse_run({**spec, "attack": attacked("backdoor", target=2)}))

    for client in plain.clients:
        before, after = plain.x[client.train], poisoned.x[client.train]
        triggered = (after[:, 0, -2:, -2:] == 3.0).all((1, 2))
        expected = -(-len(before) // 2) if client.index in MALICIOUS else 0
        assert triggered.sum() == expected
        assert (poisoned.y[client.train][triggered] == 2).all()
        assert np.array_equal(poisoned.y[client.train][~triggered], plain.y[client.train][~triggered])
        assert np.array_equal(after[:, :, :-2, :], before[:, :, :-2, :])


def test_success_is_the_share_of_flipped_classes_that_are_mistaken_as_intended() -> None:
    """Rows are true classes. 0 becomes 2 and 2 becomes 0: 3 + 1 of 10 + 6. Then 1 becomes 0: 2 of 5."""
    confusion = np.array([[5, 2, 3], [2, 2, 1], [1, 0, 5]])

    assert flip_success(LabelFlip(), confusion) == {"attack.success": 4 / 16}
    assert flip_success(LabelFlip(source=1, target=0), confusion) == {"attack.success": 2 / 5}


def test_a_backdoor_opens_where_the_mean_is_taken() -> None:
    spec = tiny(
        dataset={"name": "digits"},
        model={"name": "mlp-50"},
        partition={"name": "iid"},
        clients=10,
        cohort=None,
        rounds=15,
        precision="float32",
        local={"epochs": 2, "batch_size": 32, "optimizer": {"name": "sgd", "lr": 0.1}},
    )
    open_door = simulate({**spec, "attack": {"name": "backdoor", "share": 0.3, "target": 7}})
    honest = simulate({**spec, "attack": {"name": "backdoor", "share": 0.0, "target": 7}})

    assert curve(open_door, "attack.success")[-1] > 0.8
    assert curve(honest, "attack.success")[-1] < 0.4
    assert curve(open_door, "accuracy")[-1] > 0.8


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"strategy": {"name": "centralised"}}, "attack", "no clients that could be malicious"),
        ({"strategy": {"name": "local-only"}}, "attack", "does not send every client's model"),
        ({"strategy": {"name": "fedavg", "every": 2}}, "attack", "does not send every client's model"),
        ({"attack": {"name": "label-flip", "source": 1}}, "attack", "Give source and target"),
        ({"attack": {"name": "label-flip", "source": 1, "target": 1}}, "attack.target", "choose another target"),
        ({"attack": {"name": "label-flip", "source": 0, "target": 3}}, "attack.target", "go from 0 to 2"),
        ({"attack": {"name": "backdoor", "size": 4}}, "attack.size", "take less than 4"),
        ({"attack": {"name": "backdoor", "size": 2, "target": 5}}, "attack.target", "There is no class 5"),
        ({"attack": {"name": "sign-flip", "share": 1.0}}, "attack.share", "less than 1"),
    ],
)
def test_what_an_attack_cannot_do_is_refused_with_the_reason(changes: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(SpecError) as refusal:
        parse_run(tiny(**{"attack": attacked("sign-flip"), **changes}))

    (problem,) = refusal.value.errors
    assert problem.path == path
    assert words in problem.message


def test_an_attack_is_part_of_a_runs_identity() -> None:
    attacks = [None, attacked("sign-flip"), attacked("sign-flip", scale=2.0), attacked("ipm"), {"name": "ipm"}]

    assert len({canonical_hash(parse_run(tiny(attack=attack))) for attack in attacks}) == 5
