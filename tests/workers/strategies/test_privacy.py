"""Clipping, noise and epsilon, worked out by hand and held against dp-accounting's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import dp_accounting
import numpy as np
import pytest
import torch
from dp_accounting.rdp import RdpAccountant

from tests.workers.engine.tiny import curve, tiny
from tests.workers.strategies.by_hand import Server, answer, tensors
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.errors import SpecError, TributaryError
from workers.privacy.guarantees import LocalPrivacy
from workers.spec import parse_run
from workers.strategies._private import LocalNoise, least_noise, noise_beside_count
from workers.streams import stream

UNIFORM = {"name": "composed", "aggregate": {"name": "uniform"}}
REPLACE_ONE = dp_accounting.NeighboringRelation.REPLACE_ONE


def private(**options: Any) -> dict[str, Any]:
    return {"name": "central", "delta": 1e-3, **options}


def server_of(privacy: dict[str, Any], start: dict[str, torch.Tensor], monkeypatch: pytest.MonkeyPatch) -> Server:
    import tests.workers.strategies.by_hand as by_hand

    monkeypatch.setattr(by_hand, "tiny", lambda **fields: tiny(privacy=privacy, **fields))
    return Server(UNIFORM, start)


def test_a_movement_longer_than_the_clip_is_shortened_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """From (1, 1): one client moves by (3, 4), 5 long, which becomes (1.2, 1.6); the other by (0, 1), which stays.

    Their mean is (0.6, 1.3), however many samples they have. The noise is 2 * noise / 2 = noise, too small to see.
    """
    server = server_of(private(clip=2.0, noise=1e-9), tensors(w=[1.0, 1.0]), monkeypatch)

    result = server.round(answer(1, [4.0, 5.0]), answer(99, [1.0, 2.0]))

    assert result["w"] == pytest.approx([1.6, 2.3], abs=1e-7)
    assert server.method.server.reported["privacy.clipped"] == 1.0  # type: ignore[attr-defined]


def test_the_means_noise_has_its_deviation_over_ten_thousand_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise 3 and clip 0.5 over two clients: 0.75."""
    start = tensors(w=[0.0] * 10_000)
    server = server_of(private(clip=0.5, noise=3.0), start, monkeypatch)

    noise = np.array(server.round(answer(1, [0.0] * 10_000), answer(1, [0.0] * 10_000))["w"])
    again = np.array(server.round(answer(1, [0.0] * 10_000), answer(1, [0.0] * 10_000))["w"])

    assert noise.mean() == pytest.approx(0.0, abs=0.03)
    assert noise.std() == pytest.approx(0.75, rel=0.03)
    assert not np.array_equal(noise, again)


def test_a_clients_noise_is_its_own_and_its_movement_is_clipped() -> None:
    """Movements of 4 and 1 over one parameter, clip 2: 2 and 1 arrive, with noise of 0.5 * 2 on each."""
    spec = parse_run(tiny(strategy=UNIFORM, privacy={"name": "local", "noise": 0.5, "clip": 2.0, "delta": 1e-3}))
    assert isinstance(spec.privacy, LocalPrivacy)
    params = {"w": torch.tensor([[5.0], [2.0]], dtype=torch.float64)}
    work = SimpleNamespace(params=params, anchor={"w": torch.tensor([1.0]).double()}, clients=[3, 4], round=2)

    LocalNoise(spec.privacy, spec).finish(work)  # type: ignore[arg-type]

    noise = [stream(0, "privacy", client=client, round=2).standard_normal(1)[0] for client in (3, 4)]
    assert params["w"].flatten().tolist() == pytest.approx([3.0 + noise[0], 2.0 + noise[1]])


@pytest.mark.parametrize("privacy", [private(noise=1.1), {"name": "local", "noise": 2.0, "delta": 1e-3}])
def test_epsilon_is_the_librarys_own_for_the_same_rounds(privacy: dict[str, Any]) -> None:
    """Three of five clients are drawn in each round, which only the central form gains from."""
    result = simulate(tiny(strategy=UNIFORM, privacy=privacy, rounds=4))

    event: Any = dp_accounting.GaussianDpEvent(privacy["noise"] / 2)
    if privacy["name"] == "central":
        event = dp_accounting.SampledWithoutReplacementDpEvent(5, 3, event)
    expected = []
    for rounds in range(1, 5):
        accountant = RdpAccountant(neighboring_relation=REPLACE_ONE)
        accountant.compose(event, rounds)
        expected.append(accountant.get_epsilon(1e-3))
    assert curve(result, "privacy.epsilon") == pytest.approx(expected, rel=1e-12)


def test_noise_follows_from_epsilon() -> None:
    """The least that keeps it, to a thousandth."""
    noise = least_noise(4.0, 1e-3, 10, None)

    def epsilon(multiplier: float) -> float:
        accountant = RdpAccountant(neighboring_relation=REPLACE_ONE)
        accountant.compose(dp_accounting.GaussianDpEvent(multiplier / 2), 10)
        return float(accountant.get_epsilon(1e-3))

    assert epsilon(noise) <= 4.0 < epsilon(noise * 0.998)
    last = simulate(tiny(strategy=UNIFORM, cohort=None, privacy=private(epsilon=6.0))).history[-1]
    assert 5.9 < last.metrics["privacy.epsilon"] <= 6.0


def test_an_adaptive_clip_follows_the_movements_worked_out_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Movements of 5 and 1, clip 2: half is left as it is, where nine tenths shall be. 2 exp(0.2 * 0.4) = 2.166574.

    With that clip the movement of 5 becomes 2.166574, and the mean of it and 1 is 1.583287.
    """
    options = {"adaptive": True, "quantile": 0.9, "count_noise": 1e-9}
    server = server_of(private(clip=2.0, noise=1e-9, **options), tensors(w=[0.0]), monkeypatch)

    first = server.round(answer(1, [5.0]), answer(1, [1.0]))
    reports = [server.method.server.reported]  # type: ignore[attr-defined]
    second = server.round(answer(1, [first["w"][0] + 5.0]), answer(1, [first["w"][0] + 1.0]))
    reports.append(server.method.server.reported)  # type: ignore[attr-defined]

    assert first["w"] == pytest.approx([1.5], abs=1e-7)
    assert [each["privacy.clip"] for each in reports] == pytest.approx([2.0, 2.166574], abs=1e-6)
    assert [each["privacy.clipped"] for each in reports] == [1.0, 1.0]
    assert second["w"][0] - first["w"][0] == pytest.approx(1.583287, abs=1e-6)


def test_noise_on_movements_and_on_the_count_cost_together_what_noise_alone_does() -> None:
    """Noise 1, five clients: the count gets 1, the larger of that and 5 / 20, and movements (1 - 1 / 4)^(-1/2)."""
    assert noise_beside_count(1.0, 1.0) == pytest.approx(1.154701, abs=1e-6)
    result = simulate(tiny(strategy=UNIFORM, privacy=private(noise=1.0, adaptive=True), cohort=None, rounds=3))

    accountant = RdpAccountant(neighboring_relation=REPLACE_ONE)
    for event in (dp_accounting.GaussianDpEvent(1.154701 / 2), dp_accounting.GaussianDpEvent(1.0)):
        accountant.compose(event, 3)
    assert curve(result, "privacy.epsilon")[-1] == pytest.approx(accountant.get_epsilon(1e-3), rel=1e-6)


def test_a_count_that_would_cost_more_than_epsilon_allows_ends_the_run_with_what_to_do() -> None:
    with pytest.raises(TributaryError, match=r"takes noise .* set privacy.count_noise to more than"):
        simulate(tiny(strategy=UNIFORM, privacy=private(epsilon=1.0, adaptive=True, count_noise=0.01)))


@pytest.mark.parametrize("options", [{}, {"adaptive": True}, {"name": "local"}], ids=str)
def test_the_engines_agree_and_a_run_goes_on_to_the_bit(options: dict[str, Any]) -> None:
    strategy = {**UNIFORM, "client": {"name": "fedprox"}, "server": {"name": "adam"}}
    spec = tiny(strategy=strategy, privacy=private(noise=1.0, **options), rounds=5, cohort=None)

    check_engines(spec)
    check_resume(spec)


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"privacy": private()}, "privacy", "Give noise or epsilon"),
        ({"privacy": private(noise=1.0, epsilon=1.0)}, "privacy", "Give noise or epsilon"),
        ({"privacy": private(noise=1.0, delta=0.2)}, "privacy.delta", "take less than 0.2"),
        ({"strategy": {"name": "fedavg"}}, "strategy", "the strategy composed alone"),
        ({"strategy": {"name": "composed"}}, "strategy.aggregate", "choose uniform"),
        ({"strategy": {**UNIFORM, "client": {"name": "scaffold"}}}, "strategy.client", "control variates"),
        ({"strategy": {**UNIFORM, "server": {"name": "extrapolation"}}}, "strategy.server", "how far each client"),
        ({"privacy": private(noise=1.0, count_noise=2.0)}, "privacy.count_noise", "leave it empty"),
        ({"privacy": private(noise=1.0, adaptive=True, count_noise=0.5)}, "privacy.count_noise", "more than 0.5"),
        ({"hybrid": {"ratio": 0.5}}, "privacy", "hand out their samples"),
        ({"model": {"name": "mlp-50", "norm": "batch"}}, "privacy", "Batch statistics"),
        (
            {
                "privacy": private(name="local", noise=1.0),
                "strategy": {"name": "composed", "aggregate": {"name": "fair"}},
            },
            "strategy.aggregate",
            "send losses besides",
        ),
    ],
)
def test_what_would_make_the_guarantee_false_is_refused(changes: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(SpecError) as refusal:
        parse_run(tiny(**{"strategy": UNIFORM, "privacy": private(noise=1.0), **changes}))

    (problem,) = refusal.value.errors
    assert problem.path == path
    assert words in problem.message
