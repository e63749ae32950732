"""The loop people write: one model, one client after the other, torch.optim, a weighted mean at the end."""

from __future__ import annotations

import torch
from torch import nn

from benchmarks.engine.contenders.clock import Clock, Task, parse_task
from benchmarks.engine.shapes import Shape, build_model, make_tensors


def main(work: Task) -> None:
    torch.set_num_threads(work.threads)
    torch.manual_seed(0)
    shape, clock = work.shape, Clock()
    model, (x, y) = build_model(shape), make_tensors(shape)
    state = {name: value.clone() for name, value in model.state_dict().items()}
    clock.tick()
    for _ in range(work.rounds):
        state = run_round(model, state, x, y, shape)
        clock.tick()
    clock.report(work.out)


def run_round(
    model: nn.Module, state: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor, shape: Shape
) -> dict[str, torch.Tensor]:
    sums = {name: torch.zeros_like(value) for name, value in state.items()}
    for client in torch.randperm(shape.clients)[: shape.cohort].tolist():
        model.load_state_dict(state)
        own = slice(client * shape.samples, (client + 1) * shape.samples)
        train_client(model, x[own], y[own], shape)
        for name, value in model.state_dict().items():
            sums[name] += value * (shape.samples / (shape.cohort * shape.samples))
    return sums


def train_client(model: nn.Module, x: torch.Tensor, y: torch.Tensor, shape: Shape) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=shape.lr)
    for _ in range(shape.epochs):
        for batch in torch.randperm(len(y)).split(shape.batch):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimizer.step()


if __name__ == "__main__":
    main(parse_task())
