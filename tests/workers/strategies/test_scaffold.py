"""SCAFFOLD's clients: by hand on one parameter, and whole runs against plain loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from tests.workers.engine.tiny import curve, distance
from tests.workers.strategies.by_hand import tensors
from tests.workers.strategies.test_clients_by_loop import LR, ROUNDS, STEPS, Reference, assert_equal_models, spec_of
from workers.catalog import load_catalog
from workers.engine import simulate
from workers.engine.training.optimizer import StackedOptimizer
from workers.engine.training.rule import ClientStore, LocalWork
from workers.errors import SpecError
from workers.spec import parse_run
from workers.strategies._scaffold import GradientCorrection, StepCorrection

Model = list[np.ndarray]
RHO = 0.6
EFFECTIVE = sum(RHO**power for left in range(1, STEPS + 1) for power in range(left))
"""a_i of four steps: the gradient of the first moves the model four times, each time less, that of the last once."""


def work_of_one(optimizer: StackedOptimizer, *, at: float, server: float, own: float, steps: int) -> LocalWork:
    """One client with one parameter; nothing is asked of the samples."""
    store = ClientStore()
    store.write([0], "control/w", torch.tensor([[own]], dtype=torch.float64))
    return LocalWork(
        round=1,
        clients=[0],
        tasks=[None],
        samples=[1],
        steps=torch.tensor([steps]),
        anchor=tensors(w=[at]),
        params={"w": torch.tensor([[at]], dtype=torch.float64)},
        buffers={},
        received={"control": tensors(w=[server])},
        config={},
        store=store,
        optimizer=optimizer,
        was_sent=True,
        full_gradient=dict,
        mean_loss=lambda part, model: (torch.zeros(1), torch.zeros(1)),
        dropout_keys=torch.zeros(1),
    )


def walk(rule: GradientCorrection, gradients: list[float]) -> tuple[list[float], float]:
    """From 10 with lr 0.1, momentum 0.5, c = 3 and c_i = 1: where each step leads, and the new c_i."""
    spec = parse_run(spec_of({"name": "scaffold"}, momentum=0.5) | {"seed": 0})
    chosen = spec.local.optimizer.model_copy(update={"lr": 0.1})
    optimizer = load_catalog().optimizers["sgd"].build(chosen)
    work = work_of_one(optimizer, at=10.0, server=3.0, own=1.0, steps=len(gradients))
    rule.start(work)
    terms = rule.terms(work)
    state, seen = optimizer.new_state([work.params["w"]]), []
    for number, value in enumerate(gradients):
        gradient = torch.tensor([[value]], dtype=torch.float64) + terms.gradient.get("w", 0)
        optimizer.update([work.params["w"]], [gradient], state, number + 1)
        work.params["w"] -= terms.step.get("w", 0)
        seen.append(work.params["w"].item())
    rule.finish(work)
    return seen, work.store.kept[0]["control/w"].item()


def test_a_correction_in_the_gradient_is_carried_on_by_momentum() -> None:
    """Gradients 4 + 2 and 2 + 2: buffer 6, then 7. a_i = 1.5 + 1, so c_i = 1 - 3 + 1.3 / 0.25."""
    seen, variate = walk(GradientCorrection(2), [4.0, 2.0])

    assert seen == pytest.approx([9.4, 8.7], abs=1e-14)
    assert variate == pytest.approx(3.2, abs=1e-13)


def test_a_correction_after_the_step_is_not() -> None:
    """Buffer 4, then 4; each step moves by 0.1 * (4 + 2). c_i = 1 - 3 + 1.2 / 0.2 is the mean of the buffers."""
    seen, variate = walk(StepCorrection(2), [4.0, 2.0])

    assert seen == pytest.approx([9.4, 8.8], abs=1e-14)
    assert variate == pytest.approx(4.0, abs=1e-13)


def plain_scaffold(
    reference: Reference, local: Callable[[int, Model, Model], Model], renewed: Callable[[int, Model, Model], Model]
) -> None:
    """All rounds. `local`: client, start and correction c - c_i to its model. `renewed`: the same three with the
    client's model in place of the start, to the gradient that becomes c_i, correction included."""
    zero = [np.zeros_like(value) for value in reference.model]
    server, variates = zero, [zero for _ in range(5)]
    for _ in range(ROUNDS):
        models, changes = [], []
        for client in range(5):
            correction = [c - ci for c, ci in zip(server, variates[client], strict=True)]
            models.append(local(client, reference.model, correction))
            new = renewed(client, models[-1], correction)
            changes.append([n - ci for n, ci in zip(new, variates[client], strict=True)])
            variates[client] = new
        reference.model = reference.mean(models)
        server = [c + d for c, d in zip(server, reference.mean(changes), strict=True)]


def with_momentum(reference: Reference, client: int, start: Model, correction: Model, form: str) -> Model:
    own, buffers = list(start), [np.zeros_like(value) for value in start]
    for _ in range(STEPS):
        for at, gradient in enumerate(reference.gradient(client, own)):
            inside, outside = (correction[at], 0.0) if form == "gradient" else (0.0, correction[at])
            buffers[at] = RHO * buffers[at] + gradient + inside
            own[at] = own[at] - LR * buffers[at] - LR * outside
    return own


def undone(reference: Reference, own: Model, correction: Model, worth: float) -> Model:
    return [(x - y) / (worth * LR) - c for x, y, c in zip(reference.model, own, correction, strict=True)]


def corrected(reference: Reference, client: int, start: Model, correction: Model) -> Model:
    own = list(start)
    for _ in range(STEPS):
        own = [v - LR * (g + c) for v, g, c in zip(own, reference.gradient(client, own), correction, strict=True)]
    return own


@pytest.mark.parametrize("option", [1, 2])
def test_scaffold_corrects_every_gradient(option: int) -> None:
    spec = spec_of({"name": "scaffold", "option": option})
    reference = Reference(spec)
    plain_scaffold(
        reference,
        lambda client, start, correction: corrected(reference, client, start, correction),
        lambda client, own, correction: (
            reference.gradient(client, reference.model) if option == 1 else undone(reference, own, correction, STEPS)
        ),
    )

    assert_equal_models(simulate(spec), reference)


@pytest.mark.parametrize(("form", "worth"), [("gradient", EFFECTIVE), ("step", STEPS)])
def test_scaffold_with_momentum_equals_plain_loops(form: str, worth: float) -> None:
    spec = spec_of({"name": "scaffold", "correction": form}, momentum=RHO)
    reference = Reference(spec)
    plain_scaffold(
        reference,
        lambda client, start, correction: with_momentum(reference, client, start, correction, form),
        lambda client, own, correction: undone(reference, own, correction, worth),
    )

    assert_equal_models(simulate(spec), reference)


@pytest.mark.parametrize("form", ["gradient", "step"])
def test_scaffold_with_momentum_converges_instead_of_growing(form: str) -> None:
    result = simulate({**spec_of({"name": "scaffold", "correction": form}, momentum=0.9), "rounds": 40})

    losses = curve(result, "train_loss")
    assert losses[-1] < losses[0]
    assert all(np.isfinite(losses))
    assert max(np.abs(value).max() for value in result.parameters.values()) < 100


def test_both_forms_are_the_same_without_momentum() -> None:
    inside, outside = (simulate(spec_of({"name": "scaffold", "correction": form})) for form in ("gradient", "step"))

    assert distance(inside, outside) < 1e-13


def test_both_forms_agree_on_unequal_steps_and_several_batches() -> None:
    """Clients that finish earlier leave the stack: the correction must follow its rows."""
    local = {"epochs": 2, "batch_size": 4, "optimizer": {"name": "sgd", "lr": 0.1}}
    inside, outside = (
        simulate({**spec_of({"name": "scaffold", "correction": form}), "local": local}) for form in ("gradient", "step")
    )

    assert distance(inside, outside) < 1e-13


def test_option_one_with_a_correction_after_the_step_is_refused() -> None:
    with pytest.raises(SpecError, match="Choose option 2, or correction gradient"):
        parse_run(spec_of({"name": "scaffold", "option": 1, "correction": "step"}))
