from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from time import sleep
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from workers.engine.training.chain import (
    ChainState,
    Update,
    chain_gradients,
    chain_of,
    script_once,
    train_chain,
)
from workers.engine.training.convolutions import Convolutions, channels_last, convolutions_of, train_convolutions
from workers.engine.training.dropout import KeyedDropout
from workers.engine.training.network import Network, takes_channels_last


def small_cnn() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(27, 2))


def test_pooling_before_relu_changes_no_bit() -> None:
    """All-negative windows included: their gradient is zero either way."""
    x, y = torch.randn(5, 1, 8, 8), torch.tensor([0, 1, 0, 1, 1])
    plain = small_cnn()
    cross_entropy(plain(x), y).backward()

    module = Network(small_cnn()).module
    loss = cross_entropy(module(x), y)
    loss.backward()

    assert [type(layer).__name__ for layer in module][1:3] == ["MaxPool2d", "ReLU"]
    for (name, ours), (_, theirs) in zip(module.named_parameters(), plain.named_parameters(), strict=True):
        assert ours.grad is not None
        assert theirs.grad is not None
        assert torch.equal(ours.grad, theirs.grad), name


def test_a_copy_for_another_thread_has_the_same_names() -> None:
    network = Network(nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.BatchNorm1d(4)))

    copied = network.copy()

    assert (copied.keys, copied.buffers, copied.parameters) == (network.keys, network.buffers, network.parameters)
    assert network.keys == ["1.dropout_key"]
    assert "1.dropout_key" not in network.initial()


@pytest.mark.parametrize("weighted", [False, True])
def test_a_written_out_step_follows_the_gradients(weighted: bool) -> None:
    torch.manual_seed(2)
    stacks = [torch.randn(3, *shape).double() for shape in [(5, 6), (5,), (4, 5), (4,)]]
    samples, labels = torch.randn(9, 2, 3).double(), torch.randint(0, 4, (9,))
    index = torch.randint(0, 9, (3, 7))
    weights = torch.rand(3, 7).double() if weighted else None
    before = [each.clone() for each in stacks]
    expected, grads = chain_gradients([True, False], stacks, samples[index], labels[index], weights)
    state = ChainState(stacks, [], [], torch.zeros(3).double())

    train_chain([True, False], state, Update(0.3), samples, [index], [labels[index]], [weights], 0)

    torch.testing.assert_close(state.losses, expected, rtol=0, atol=1e-14)
    for old, new, gradient in zip(before, stacks, grads, strict=True):
        torch.testing.assert_close(new, old - 0.3 * gradient, rtol=0, atol=1e-14)


OPTIMIZERS: dict[str, tuple[Update, Callable[..., torch.optim.Optimizer]]] = {
    "sgd": (Update(0.3), partial(torch.optim.SGD, lr=0.3)),
    "sgd with decay": (Update(0.3, weight_decay=0.01), partial(torch.optim.SGD, lr=0.3, weight_decay=0.01)),
    "momentum": (
        Update(0.3, momentum=0.9, weight_decay=0.01),
        partial(torch.optim.SGD, lr=0.3, momentum=0.9, weight_decay=0.01),
    ),
    "nesterov": (
        Update(0.3, momentum=0.9, nesterov=True, weight_decay=0.01),
        partial(torch.optim.SGD, lr=0.3, momentum=0.9, nesterov=True, weight_decay=0.01),
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
def test_written_out_steps_equal_torchs_optimizer_for_clients_that_end_at_different_steps(
    name: str, terms: bool
) -> None:
    """Two clients in one stack, the second stops after two of four steps; with a pull to the anchor, a correction of

    the gradient and one of the step, each done by hand around torch's own optimizer.
    """
    update, make_optimizer = OPTIMIZERS[name]
    torch.manual_seed(3)
    start = nn.Sequential(nn.Flatten(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4)).double()
    anchor = [param.detach().clone() for param in start.parameters()]
    x, y, index = torch.randn(9, 2, 3).double(), torch.randint(0, 4, (9,)), torch.randint(0, 9, (4, 2, 7))
    pull = 0.5 if terms else 0.0
    gradient_term = [torch.randn(2, *param.shape).double() for param in anchor] if terms else []
    step_term = [0.01 * each for each in gradient_term]
    stacks = [torch.stack([param, param]) for param in anchor]
    slots = 2 if update.adam else 1 if update.momentum else 0
    first, second = ([torch.zeros_like(stack) for stack in stacks] if slots > at else [] for at in range(2))
    state = ChainState(stacks, first, second, torch.zeros(2).double(), pull, anchor, gradient_term, step_term)

    for part, before in ((slice(0, 1), 0), (slice(1, 4), 1)):
        batches = [each[: 2 if step < 2 else 1] for step, each in enumerate(index)][part]
        train_chain([True, False], state, update, x, batches, [y[each] for each in batches], [None] * 3, before)

    for client, steps in ((0, 4), (1, 2)):
        module = copy.deepcopy(start)
        optimizer = make_optimizer(module.parameters())
        for batch in index[:steps, client]:
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(x[batch]), y[batch]).backward()
            for at, param in enumerate(module.parameters()):
                if terms and param.grad is not None:
                    param.grad += pull * (param.detach() - anchor[at]) + gradient_term[at][client]
            optimizer.step()
            for at, param in enumerate(module.parameters()):
                if terms:
                    param.data -= step_term[at][client]
        for stack, param in zip(stacks, module.parameters(), strict=True):
            torch.testing.assert_close(stack[client], param.detach(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_written_out_gradients_equal_autograds(weighted: bool) -> None:
    torch.manual_seed(1)
    modules = [nn.Sequential(nn.Flatten(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4), nn.Linear(4, 3)).double()]
    modules += [copy.deepcopy(modules[0]) for _ in range(2)]
    for module in modules:
        for param in module.parameters():
            param.data.normal_()
    x, y = torch.randn(3, 7, 2, 3).double(), torch.randint(0, 3, (3, 7))
    weights = torch.rand(3, 7).double() if weighted else None
    stacks = [torch.stack(list(each)).detach() for each in zip(*(m.parameters() for m in modules), strict=True)]

    chain = chain_of(modules[0])
    assert chain == [True, False, False]
    losses, grads = chain_gradients(chain, stacks, x, y, weights)

    for client, module in enumerate(modules):
        each = cross_entropy(module(x[client]), y[client], reduction="none")
        loss = each.mean() if weights is None else (each * weights[client]).sum()
        expected = torch.autograd.grad(loss, list(module.parameters()))
        torch.testing.assert_close(losses[client], loss.detach(), rtol=0, atol=1e-12)
        for ours, theirs in zip(grads, expected, strict=True):
            torch.testing.assert_close(ours[client], theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "module",
    [
        nn.Linear(2, 2),
        nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 2)),
        nn.Sequential(nn.Linear(2, 2, bias=False)),
        nn.Sequential(nn.Linear(2, 2), nn.ReLU()),
        nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5), nn.Linear(2, 2)),
        nn.Sequential(nn.ReLU(), nn.Linear(2, 2)),
    ],
)
def test_anything_else_is_left_to_autograd(module: nn.Module) -> None:
    assert chain_of(module) is None


def test_dropout_keeps_the_right_share_and_scales_the_rest() -> None:
    layer = KeyedDropout(0.25, 0, channels=False)
    layer.dropout_key.fill_(12345)

    out = layer(torch.ones(200, 500))

    assert out.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert (out == 0).double().mean().item() == pytest.approx(0.25, abs=0.005)
    assert torch.equal(layer.eval()(torch.ones(2, 2)), torch.ones(2, 2))


def test_dropout_differs_by_key_and_layer_and_drops_whole_channels() -> None:
    first, second = KeyedDropout(0.5, 0, channels=True), KeyedDropout(0.5, 1, channels=True)
    x = torch.ones(4, 64, 3, 3)

    one, layer = first(x), second(x)
    first.dropout_key.fill_(1)
    other = first(x)

    assert not torch.equal(one, layer)
    assert not torch.equal(one, other)
    assert torch.equal(one.amin((2, 3)), one.amax((2, 3)))


def test_the_channel_goes_last_only_where_every_convolution_is_sound_with_it() -> None:
    assert takes_channels_last(nn.Sequential(nn.Conv2d(3, 32, 3), nn.Conv2d(32, 64, 5)))
    for wrong in (nn.Conv2d(3, 6, 5), nn.Conv2d(32, 32, 3, groups=32), nn.Conv2d(32, 64, 1), nn.Conv2d(3, 32, 3, 2)):
        assert not takes_channels_last(nn.Sequential(nn.Conv2d(3, 32, 3), wrong))
    assert not takes_channels_last(nn.Linear(3, 3))


def test_a_function_is_compiled_by_one_thread_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where two threads parse at a time, Python 3.11 raises now and then."""
    begun, at_work, most = Barrier(4), [], []

    def script(function: Any) -> Any:
        at_work.append(function)
        most.append(len(at_work))
        sleep(0.05)
        at_work.pop()
        return function

    def fresh() -> None: ...

    monkeypatch.setattr(torch.jit, "script", script)
    with ThreadPoolExecutor(4) as pool:
        functions = list(pool.map(lambda _: (begun.wait(), script_once(fresh))[1], range(4)))

    assert functions == [fresh] * 4
    assert most == [1]


def padded_cnn() -> nn.Sequential:
    """A pooled and a plain convolution, one with padding, and an end of two linear layers."""
    torch.manual_seed(5)
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 16, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 2 * 2, 7),
        nn.ReLU(),
        nn.Linear(7, 4),
    ).double()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_written_out_steps_of_a_cnn_equal_autograd_and_torchs_optimizer(name: str) -> None:
    """Pictures with large even areas: there all four values under a pooling window are equal."""
    update, make_optimizer = OPTIMIZERS[name]
    module = padded_cnn()
    x, y = torch.randn(9, 3, 8, 8).double() * (torch.rand(9, 1, 1, 1) > 0.5), torch.randint(0, 4, (9,))
    index = torch.randint(0, 9, (3, 1, 5))
    network = Network(padded_cnn())
    params = [channels_last(param.detach()[None]) for param in network.module.parameters()]
    slots = 2 if update.adam else 1 if update.momentum else 0
    first, second = ([torch.zeros_like(param) for param in params] if slots > at else [] for at in range(2))
    state = ChainState(params, first, second, torch.zeros(1).double())
    assert network.convolutions == Convolutions([1, 0], [True, False], [True, True], [True, False])

    train_convolutions(network.convolutions, state, update, x, list(index), [y[each] for each in index], [None] * 3, 0)

    optimizer, losses = make_optimizer(module.parameters()), 0.0
    for batch in index[:, 0]:
        optimizer.zero_grad()
        loss = cross_entropy(module(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
        losses += loss.item()
    assert state.losses.item() == pytest.approx(losses, abs=1e-12)
    for own, param in zip(params, module.parameters(), strict=True):
        torch.testing.assert_close(own, param.detach(), rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "layers",
    [
        [nn.Conv2d(3, 16, 3, stride=2), nn.ReLU()],
        [nn.Conv2d(3, 16, 3, bias=False), nn.ReLU()],
        [nn.Conv2d(3, 16, 3), nn.MaxPool2d(3)],
        [nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU()],
        [nn.Conv2d(3, 16, 3), nn.GELU()],
        [nn.Conv2d(3, 16, 3, padding=1, padding_mode="circular"), nn.ReLU()],
        [nn.MaxPool2d(2), nn.Conv2d(3, 16, 3)],
    ],
)
def test_a_cnn_with_anything_else_is_left_to_autograd(layers: list[nn.Module]) -> None:
    assert convolutions_of(nn.Sequential(*layers, nn.Flatten(), nn.Linear(16, 2))) is None
