"""Fixed steps, schedules, clipping, smoothing, kept momentum and augmentation of local training."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from tests.workers.engine.test_resume import bits
from tests.workers.engine.tiny import curve, tiny
from tests.workers.strategies.test_clients_by_loop import Reference
from workers.engine import simulate
from workers.engine.conformance import check_engines, check_resume
from workers.engine.training.augmentation import Augmentation, crop, sample_draws
from workers.errors import SpecError
from workers.spec import canonical_hash, parse_run
from workers.spec.schedules import ConstantSchedule, CosineSchedule, ExponentialSchedule, StepSchedule

SGD = {"name": "sgd", "lr": 0.1}
PICTURES = {"dataset": {"name": "blobs", "shape": [1, 8, 8], "classes": 3, "train": 60, "test": 12}}


def local(**options: Any) -> dict[str, Any]:
    return {"epochs": 2, "batch_size": 4, "optimizer": SGD, **options}


def test_schedules_have_their_factors() -> None:
    def factors(schedule: Any, rounds: int = 6) -> list[float]:
        return [schedule.factor(number, rounds) for number in range(1, rounds + 1)]

    assert factors(ConstantSchedule()) == [1.0] * 6
    assert factors(ConstantSchedule(warmup=4)) == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert factors(StepSchedule(every=2, gamma=0.5)) == [1.0, 1.0, 0.5, 0.5, 0.25, 0.25]
    assert factors(ExponentialSchedule(gamma=0.5, warmup=2)) == [0.5, 1.0, 1.0, 0.5, 0.25, 0.125]
    halves = [(1 + math.cos(math.pi * done / 4)) / 2 for done in range(4)]
    assert factors(CosineSchedule(), 4) == pytest.approx(halves)
    assert factors(CosineSchedule(least=0.2), 4) == pytest.approx([0.2 + 0.8 * half for half in halves])


@pytest.mark.parametrize(
    "options",
    [
        {"steps": 3},
        {"steps": 11},
        {"schedule": {"name": "cosine", "warmup": 2}},
        {"clip_norm": 0.5},
        {"label_smoothing": 0.2},
        {"keep_optimizer": True, "optimizer": {**SGD, "momentum": 0.5}},
        {"augment": "crop-flip"},
        {"clip_norm": 0.3, "label_smoothing": 0.1, "augment": "flip", "schedule": {"name": "step", "every": 2}},
    ],
    ids=str,
)
def test_the_engines_agree_and_a_run_goes_on_to_the_bit(options: dict[str, Any]) -> None:
    spec = tiny(**PICTURES, model={"name": "mlp-50"}, local=local(**options), rounds=5, stragglers=0.4)

    check_engines(spec)
    check_resume(spec)


def test_everything_together_equals_a_plain_loop_of_torchs_own_optimizer() -> None:
    """Full batches on every client; momentum is kept per client, so each has an optimizer for the whole run."""
    rounds, steps, lr = 4, 3, 0.3
    options = {"steps": steps, "batch_size": 10_000, "clip_norm": 0.4, "label_smoothing": 0.1, "keep_optimizer": True}
    schedule = {"name": "exponential", "gamma": 0.5, "warmup": 2}
    optimizer = {"name": "sgd", "lr": lr, "momentum": 0.6}
    spec = tiny(cohort=None, rounds=rounds, local={**options, "optimizer": optimizer, "schedule": schedule})
    reference = Reference({**spec, "local": {"epochs": 1, "batch_size": 10_000}})
    federation, model = reference.federation, [torch.tensor(each) for each in reference.model]
    own = [[value.clone().requires_grad_() for value in model] for _ in range(5)]
    optimizers = [torch.optim.SGD(params, lr=lr, momentum=0.6) for params in own]
    clipped = 0
    for factor in (0.5, 1.0, 1.0, 0.5):
        for client, params, each in zip(federation.clients, own, optimizers, strict=True):
            x, y = torch.tensor(federation.x[client.train]).double(), torch.tensor(federation.y[client.train])
            each.param_groups[0]["lr"] = lr * factor
            for param, value in zip(params, model, strict=True):
                param.data.copy_(value)
            for _ in range(steps):
                each.zero_grad()
                F.cross_entropy(x @ params[0].T + params[1], y, label_smoothing=0.1).backward()
                clipped += float(torch.nn.utils.clip_grad_norm_(params, 0.4)) > 0.4
                each.step()
        model = [sum(s * params[i].detach() for s, params in zip(reference.shares, own, strict=True)) for i in (0, 1)]

    result = simulate(spec)

    assert 0 < clipped < 5 * rounds * steps
    np.testing.assert_allclose(result.parameters["1.weight"], model[0].numpy(), rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.parameters["1.bias"], model[1].numpy(), rtol=0, atol=1e-9)


def test_as_many_steps_as_two_epochs_have_are_two_epochs() -> None:
    """Twelve samples a client in batches of four: three steps an epoch, in the same order."""
    shape = {"partition": {"name": "iid"}, "cohort": None}
    epochs, steps = simulate(tiny(**shape, local=local())), simulate(tiny(**shape, local=local(epochs=1, steps=6)))

    assert bits(epochs) == bits(steps)


def test_every_client_takes_as_many_steps_as_are_asked_for() -> None:
    result = simulate(tiny(local=local(steps=7), cohort=None))

    assert {values["steps"] for values in result.history[1].clients.values()} == {7.0}
    assert curve(result, "local_steps") == [35.0] * 3


def test_a_crop_is_cut_out_of_black_at_its_own_offset() -> None:
    x = np.arange(1, 2 * 3 * 5 * 6 + 1, dtype=np.float32).reshape(2, 3, 5, 6)
    black = [-1.5, 0.1, -0.3]

    result = crop(torch.from_numpy(x), np.array([[0, 8], [5, 2]]), black).numpy()

    # 0 down and 8 right of the frame's corner: four rows of black, then the last two columns of the first row.
    assert result[0, 1].tolist() == [[np.float32(0.1)] * 6] * 4 + [[35.0, 36.0] + [np.float32(0.1)] * 4]
    framed = np.stack([np.pad(x[1, each], 4, constant_values=black[each]) for each in range(3)])
    assert np.array_equal(result[1], framed[:, 5:10, 2:8])


def test_half_of_the_pictures_are_mirror_images_and_crops_come_first() -> None:
    keys = np.array([3, 4], dtype=np.uint64)
    draws, pictures = sample_draws(keys, 9, 1), torch.rand(2, 9, 1, 4, 4)
    flipped, offsets = draws[:, :, 2] < 0.5, np.floor(draws[:, :, :2] * 9).astype(int)

    mirrored = Augmentation("flip", torch.zeros(1)).apply(pictures, keys, 1)
    both = Augmentation("crop-flip", torch.zeros(1)).apply(pictures, keys, 1)

    assert 0 < flipped.sum() < 18
    for row, place in np.ndindex(2, 9):
        turn = -1 if flipped[row, place] else 1
        down, right = offsets[row, place]
        picture = pictures[row, place, 0].numpy()
        assert np.array_equal(mirrored[row, place, 0].numpy(), picture[:, ::turn])
        cut = np.pad(picture, 4)[down : down + 4, right : right + 4]
        assert np.array_equal(both[row, place, 0].numpy(), cut[:, ::turn])


def test_only_a_run_that_augments_imports_torchvision() -> None:
    code = (
        "import sys; from tests.workers.engine.tiny import tiny; from workers.engine import simulate\n"
        "data = {'name': 'blobs', 'shape': [1, 8, 8], 'classes': 3, 'train': 60, 'test': 12}\n"
        "for augment in ('none', 'crop'):\n"
        "    local = {'batch_size': 4, 'augment': augment}\n"
        "    simulate(tiny(dataset=data, rounds=1, local=local)); print('torchvision' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["False", "True"]


def test_crops_go_everywhere_and_every_step_has_its_own() -> None:
    draws = sample_draws(np.array([3], dtype=np.uint64), 2_000, 5)[0]

    assert np.bincount(np.floor(draws[:, 0] * 9).astype(int)).tolist() == pytest.approx([222] * 9, abs=60)
    assert not np.array_equal(draws, sample_draws(np.array([3], dtype=np.uint64), 2_000, 6)[0])


def test_fields_at_their_default_are_no_part_of_an_identity_and_others_are() -> None:
    plain = canonical_hash(parse_run(tiny(local=local())))
    defaults = {
        "steps": None,
        "clip_norm": None,
        "label_smoothing": 0.0,
        "keep_optimizer": False,
        "augment": "none",
        "schedule": {"name": "constant"},
    }
    changed = [{"steps": 5}, {"clip_norm": 1.0}, {"label_smoothing": 0.1}, {"schedule": {"name": "cosine"}}]

    assert canonical_hash(parse_run(tiny(local=local(**defaults)))) == plain
    assert len({plain, *(canonical_hash(parse_run(tiny(local=local(**each)))) for each in changed)}) == 5


@pytest.mark.parametrize(
    ("options", "strategy", "path", "words"),
    [
        ({"augment": "flip"}, "fedavg", "local.augment", "are no pictures"),
        ({"keep_optimizer": True, "optimizer": {"name": "adam"}}, "fedavg", "local.keep_optimizer", "choose sgd"),
        ({"keep_optimizer": True}, "scaffold", "local.keep_optimizer", "a kept momentum adds to"),
        ({"keep_optimizer": True}, "fedswap", "local.keep_optimizer", "forgets what clients keep"),
        ({"schedule": {"name": "cosine"}}, "qfedavg", "local.schedule", "one learning rate for all rounds"),
        ({"schedule": {"name": "linear"}}, "fedavg", "local.schedule", "Choose one of constant, step"),
    ],
)
def test_what_does_not_go_together_is_refused_with_the_reason(
    options: dict[str, Any], strategy: str, path: str, words: str
) -> None:
    with pytest.raises(SpecError) as refusal:
        parse_run(tiny(strategy={"name": strategy}, local=local(**options)))

    (problem,) = refusal.value.errors
    assert problem.path == path
    assert words in problem.message
