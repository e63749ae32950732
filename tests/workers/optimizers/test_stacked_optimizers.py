"""Stacked updates equal torch.optim's on every client of the stack."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workers.catalog import load_catalog

CASES: list[tuple[str, dict[str, Any], type[torch.optim.Optimizer]]] = [
    ("sgd", {"lr": 0.1}, torch.optim.SGD),
    ("sgd", {"lr": 0.1, "momentum": 0.9}, torch.optim.SGD),
    ("sgd", {"lr": 0.1, "momentum": 0.9, "nesterov": True}, torch.optim.SGD),
    ("sgd", {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.01}, torch.optim.SGD),
    ("adam", {"lr": 0.02}, torch.optim.Adam),
    ("adam", {"lr": 0.02, "weight_decay": 0.1}, torch.optim.Adam),
    ("adamw", {"lr": 0.02, "weight_decay": 0.1}, torch.optim.AdamW),
]


@pytest.mark.parametrize(("name", "options", "reference"), CASES)
def test_five_steps_of_a_stack_equal_torch_optim_on_each_client(
    name: str, options: dict[str, Any], reference: type[torch.optim.Optimizer]
) -> None:
    generator = torch.Generator().manual_seed(0)
    start = [torch.randn(3, 4, 2, generator=generator).double(), torch.randn(3, 2, generator=generator).double()]
    grads = [[torch.randn(p.shape, generator=generator).double() for p in start] for _ in range(5)]
    component = load_catalog().optimizers[name]
    optimizer = component.build(component.Params(name=name, **options))

    params = [p.clone() for p in start]
    state = optimizer.new_state(params)
    for step, gradient in enumerate(grads, start=1):
        optimizer.update(params, [g.clone() for g in gradient], state, step)

    for client in range(3):
        alone = [p[client].clone().requires_grad_() for p in start]
        theirs = reference(alone, **options)  # type: ignore[call-arg]
        for gradient in grads:
            for param, g in zip(alone, gradient, strict=True):
                param.grad = g[client].clone()
            theirs.step()
        for ours, expected in zip(params, alone, strict=True):
            torch.testing.assert_close(ours[client], expected.detach(), rtol=0, atol=1e-14)


def test_effective_steps_count_what_momentum_repeats() -> None:
    """tau = 3, rho = 0.5: the gradients move the model 1.75, 1.5 and 1 times, 4.25 in all."""
    component = load_catalog().optimizers["sgd"]
    steps = torch.tensor([0, 1, 3])

    def counted(**options: Any) -> list[float]:
        return component.build(component.Params(name="sgd", **options)).effective_steps(steps).tolist()

    assert counted() == [0.0, 1.0, 3.0]
    assert counted(momentum=0.5) == [0.0, 1.0, 4.25]
    assert counted(momentum=0.5, nesterov=True) == [0.0, 1.5, 3 + 0.5 * 4.25]


def test_adam_has_no_effective_steps() -> None:
    component = load_catalog().optimizers["adam"]

    with pytest.raises(TypeError, match="no fixed sum of gradients"):
        component.build(component.Params(name="adam")).effective_steps(torch.tensor([1]))
