"""Chains of linear layers on a CPU: what is compiled computes what PyTorch does, and no client touches another."""

from __future__ import annotations

import copy
import importlib.util
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import pytest
import torch
from torch import nn

from workers.engine.training import chain_kernels
from workers.engine.training.chain import ChainState, Update
from workers.engine.training.compiled_chain import CompiledTraining, compiled_scores, compiled_training
from workers.engine.training.schedule import Schedule

CHAIN = [True, False]
SIZES = [26, 11]
"""Samples of two clients: with batches of 8 they take 4 and 2 steps an epoch, and their last batches have 2 and 3."""


def model() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(nn.Flatten(), nn.Linear(21, 18), nn.ReLU(), nn.Linear(18, 5))


def data() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(4)
    return torch.randn(40, 3, 7, generator=generator), torch.randint(0, 5, (40,), generator=generator)


def clients() -> list[np.ndarray]:
    return [np.arange(0, 26), np.arange(26, 37)]


def schedule(samples: list[np.ndarray], keys: list[int], labels: torch.Tensor, **changes: Any) -> Schedule:
    settings: dict[str, Any] = {"epochs": 2, "batch_size": 8, "parts": [None] * len(samples), "padded": True}
    return Schedule(samples, np.array(keys, np.uint64), labels, dtype=torch.float32, **{**settings, **changes})


def training(plan: Schedule, update: Update, **state: Any) -> tuple[list[torch.Tensor], CompiledTraining]:
    x, y = data()
    rows = len(plan.sizes)
    stacks = [torch.stack([param.detach()] * rows) for param in model().parameters()]
    whole = ChainState(stacks, [], [], torch.zeros(rows), **state)
    labels = y[torch.from_numpy(plan.layout.order)]
    return stacks, compiled_training(CHAIN, whole, update, x, labels, plan.layout, None)


OPTIMIZERS: dict[str, tuple[Update, Callable[..., torch.optim.Optimizer]]] = {
    "sgd": (Update(0.3), partial(torch.optim.SGD, lr=0.3)),
    "sgd with decay": (Update(0.3, weight_decay=0.01), partial(torch.optim.SGD, lr=0.3, weight_decay=0.01)),
    "momentum": (
        Update(0.05, momentum=0.9, weight_decay=0.01),
        partial(torch.optim.SGD, lr=0.05, momentum=0.9, weight_decay=0.01),
    ),
    "nesterov": (
        Update(0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
        partial(torch.optim.SGD, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    ),
    "adam": (
        Update(0.03, weight_decay=0.01, adam=True, beta1=0.9, beta2=0.99, eps=1e-8),
        partial(torch.optim.Adam, lr=0.03, betas=(0.9, 0.99), weight_decay=0.01),
    ),
    "adamw": (
        Update(0.03, weight_decay=0.1, adam=True, decoupled=True, beta1=0.9, beta2=0.99, eps=1e-8),
        partial(torch.optim.AdamW, lr=0.03, betas=(0.9, 0.99), weight_decay=0.1),
    ),
}


@pytest.mark.parametrize("terms", [False, True])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_equals_torchs_optimizer_for_clients_of_different_sizes(name: str, terms: bool) -> None:
    """With a pull to the anchor, a correction of the gradient and one of the step, each done around torch's optimizer.

    Reference in float64: what differs is this side's rounding.
    """
    update, make_optimizer = OPTIMIZERS[name]
    (x, y), start = data(), model()
    anchor = [param.detach().clone() for param in start.parameters()]
    generator = torch.Generator().manual_seed(5)
    pull = 0.5 if terms else 0.0
    gradients = [torch.randn(2, *param.shape, generator=generator) for param in anchor] if terms else []
    steps = [0.01 * each for each in gradients]
    plan = schedule(clients(), [1, 2], y)
    stacks, compiled = training(plan, update, pull=pull, anchor=anchor, gradient_term=gradients, step_term=steps)

    compiled.advance(0, 3)
    compiled.advance(3, 100)
    compiled.write_into(stacks)

    for row, (size, before) in enumerate(zip(SIZES, (0, 26), strict=True)):
        module, loss = copy.deepcopy(start).double(), 0.0
        optimizer = make_optimizer(module.parameters())
        for epoch in range(2):
            own = torch.from_numpy(plan.order[37 * epoch + before : 37 * epoch + before + size])
            for batch in own.split(8):
                optimizer.zero_grad()
                error = nn.functional.cross_entropy(module(x[batch].double()), y[batch])
                error.backward()
                loss += error.item()
                for at, param in enumerate(module.parameters()):
                    if terms and param.grad is not None:
                        param.grad += pull * (param.detach() - anchor[at]) + gradients[at][row]
                optimizer.step()
                for at, param in enumerate(module.parameters()):
                    if terms:
                        param.data -= steps[at][row]
        assert compiled.losses[row] == pytest.approx(loss, rel=2e-6)
        for stack, param in zip(stacks, module.parameters(), strict=True):
            torch.testing.assert_close(stack[row].double(), param.detach(), rtol=0, atol=5e-6)


def test_a_clients_numbers_are_the_same_in_every_stack_and_however_its_steps_are_cut() -> None:
    _, y = data()
    update = OPTIMIZERS["momentum"][0]
    both, together = training(schedule(clients(), [1, 2], y), update)
    together.advance(0, 100)
    together.write_into(both)
    for client in (0, 1):
        stacks, alone = training(schedule([clients()[client]], [client + 1], y), update)
        for step in range(8):
            alone.advance(step, step + 1)
        alone.write_into(stacks)
        assert [torch.equal(own[0], each[client]) for own, each in zip(stacks, both, strict=True)] == [True] * 4
        assert alone.losses[0] == together.losses[client]


def test_class_weights_multiply_each_samples_loss() -> None:
    """One step of one batch: the gradient of sum(weight * loss) / samples."""
    x, y = data()
    weights = torch.tensor([1.0, 2.0, 0.5, 4.0, 3.0])
    plan = schedule([np.arange(8)], [1], y, epochs=1)
    module = model()
    stacks = [param.detach()[None].clone() for param in module.parameters()]
    state = ChainState(stacks, [], [], torch.zeros(1))
    labels = y[torch.from_numpy(plan.layout.order)]
    compiled = compiled_training(CHAIN, state, Update(1.0), x, labels, plan.layout, weights)
    compiled.advance(0, 1)
    compiled.write_into(stacks)

    loss = (nn.functional.cross_entropy(module(x[:8]), y[:8], reduction="none") * weights[y[:8]]).mean()
    loss.backward()
    assert compiled.losses[0] == pytest.approx(loss.item(), rel=1e-6)
    for stack, param in zip(stacks, module.parameters(), strict=True):
        assert param.grad is not None
        torch.testing.assert_close(stack[0], (param - param.grad).detach(), rtol=0, atol=1e-6)


def test_a_training_that_diverges_has_nan_where_torchs_has_it() -> None:
    _, y = data()
    plan = schedule(clients(), [1, 2], y)
    stacks, compiled = training(plan, Update(1e30))
    compiled.advance(0, 100)
    compiled.write_into(stacks)

    module = model()
    optimizer = torch.optim.SGD(module.parameters(), lr=1e30)
    for epoch in range(2):
        for batch in torch.from_numpy(plan.order[37 * epoch : 37 * epoch + 26]).split(8):
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(data()[0][batch]), y[batch]).backward()
            optimizer.step()
    assert np.isnan(compiled.losses).tolist() == [True, True]
    places = [torch.isnan(param) for param in module.parameters()]
    assert any(bool(each.any()) for each in places)
    assert [torch.equal(torch.isnan(own[0]), each) for own, each in zip(stacks, places, strict=True)] == [True] * 4


@pytest.mark.parametrize(("features", "classes", "samples"), [(21, 5, 1), (48, 10, 64), (21, 70, 131), (784, 2, 65)])
def test_scores_are_torchs_losses_and_predictions(features: int, classes: int, samples: int) -> None:
    torch.manual_seed(6)
    module = nn.Sequential(nn.Flatten(), nn.Linear(features, 33), nn.ReLU(), nn.Linear(33, classes))
    x, y = torch.randn(samples, features), torch.randint(0, classes, (samples,))
    logits = module(x).detach().double()

    losses, predictions = compiled_scores(CHAIN, [each.detach() for each in module.parameters()], x, y)

    torch.testing.assert_close(
        losses.double(), nn.functional.cross_entropy(logits, y, reduction="none"), rtol=0, atol=1e-5
    )
    assert predictions.tolist() == logits.argmax(1).tolist()


def test_of_equal_logits_the_first_class_is_predicted_and_of_nan_class_0_with_a_loss_of_nan() -> None:
    """One value goes in, and logits are its products with the weights 1, 3, 3, -2."""
    weights, biases = torch.tensor([[1.0], [3.0], [3.0], [-2.0]]), torch.zeros(4)
    x, y = torch.tensor([[1.0], [0.0], [-1.0], [float("nan")], [float("inf")]]), torch.zeros(5, dtype=torch.int64)

    losses, predictions = compiled_scores([False], [weights, biases], x, y)

    assert predictions.tolist()[:4] == [1, 0, 3, 0]
    assert torch.isnan(losses).tolist() == [False, False, False, True, True]
    # log(e + 2 e^3 + e^-2) - 1, ln 4, log(e^-1 + 2 e^-3 + e^2) + 1
    assert losses[:3].tolist() == pytest.approx([2.7617742, 1.3862944, 3.0613424], rel=1e-6)


@numba.njit
def exponentials_of(values: np.ndarray) -> None:
    chain_kernels.exponentials(values.ctypes.data, len(values) // chain_kernels.LANES)


def test_exponentials_are_right_to_two_in_ten_million() -> None:
    values = np.linspace(-87, 0, 160_000, dtype=np.float32)
    results = values.copy()
    exponentials_of(results)
    exact = np.exp(values.astype(np.float64))
    assert float(np.max(np.abs(results / exact - 1))) < 2e-7
    special = np.zeros(16, np.float32)
    special[:4] = [0, -88, -np.inf, np.nan]
    exponentials_of(special)
    assert special[:3].tolist() == [1, 0, 0]
    assert bool(np.isnan(special[3]))


def dots_differ_by(kernels: ModuleType, rows: int, columns: int, floats: int) -> float:
    generator = np.random.default_rng(7)
    left = generator.standard_normal((rows, floats)).astype(np.float32)
    right = generator.standard_normal((columns, floats)).astype(np.float32)
    into = np.full((rows, columns), np.nan, np.float32)
    addresses = into.ctypes.data, columns, left.ctypes.data, floats, rows, right.ctypes.data
    kernels.dots(*addresses, floats, columns, floats)
    return float(np.abs(into - left.astype(np.float64) @ right.T).max())


def outer_differs_by(kernels: ModuleType, rows: int, count: int, floats: int, factor: float) -> float:
    generator = np.random.default_rng(8)
    left = generator.standard_normal((count, rows)).astype(np.float32)
    right = generator.standard_normal((count, floats)).astype(np.float32)
    before = np.full((rows, floats), np.nan if factor == 0 else 2, np.float32)
    into = before.copy()
    addresses = into.ctypes.data, floats, rows, left.ctypes.data, 1, rows, right.ctypes.data
    kernels.outer(*addresses, floats, count, floats, np.float32(factor))
    expected = left.T.astype(np.float64) @ right + (factor * before if factor else 0)
    return float(np.abs(into - expected).max())


def products_differ_by(kernels: ModuleType) -> float:
    """How far the two products are from NumPy's, for every size around those of tiles and vectors."""
    lanes, rows = kernels.LANES, range(1, 20)
    differences = [
        *(dots_differ_by(kernels, each, columns, 2 * lanes) for each in rows for columns in (1, 2, 3, 5, 6, 11)),
        *(outer_differs_by(kernels, each, 7, vectors * lanes, 0.0) for each in rows for vectors in (1, 2, 3)),
        *(outer_differs_by(kernels, each, 7, vectors * lanes, 0.5) for each in rows for vectors in (1, 2, 3)),
    ]
    return float(np.max(differences))


def test_products_of_any_size_equal_numpys() -> None:
    assert products_differ_by(chain_kernels) < 2e-5


def test_products_that_do_not_fit_into_a_cache_are_made_of_pieces() -> None:
    """More than 2^18 bytes, which end within a piece of 512 floats and of 64 rows."""
    assert dots_differ_by(chain_kernels, 9, 70, 1040) < 2e-4
    assert outer_differs_by(chain_kernels, 11, 130, 1040, 0.0) < 1e-4
    assert outer_differs_by(chain_kernels, 260, 3, 1040, 0.5) < 1e-4


def test_products_for_processors_with_shorter_vectors_equal_numpys_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module as such a processor reads it. Nothing of it is kept: this one would take it for its own."""
    compile_function = numba.njit
    monkeypatch.setattr(llvmlite.binding, "get_host_cpu_features", dict)
    monkeypatch.setattr(numba, "njit", lambda cache=False, **options: compile_function(**options))
    place = importlib.util.spec_from_file_location("chain_kernels_of_others", Path(chain_kernels.__file__))
    assert place is not None
    assert place.loader is not None
    kernels = importlib.util.module_from_spec(place)
    monkeypatch.setitem(sys.modules, "chain_kernels_of_others", kernels)
    place.loader.exec_module(kernels)

    assert (kernels.SIZES.lanes, kernels.SIZES.dots) == (8, (3, 3))
    assert products_differ_by(kernels) < 2e-5
