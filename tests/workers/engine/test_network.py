from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy

from workers.engine.training.chain import Descent, chain_descend, chain_gradients, chain_of, script_once
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
def test_a_written_out_descent_is_a_step_along_the_gradients(weighted: bool) -> None:
    torch.manual_seed(2)
    stacks = [torch.randn(3, *shape).double() for shape in [(5, 6), (5,), (4, 5), (4,)]]
    samples, labels = torch.randn(9, 2, 3).double(), torch.randint(0, 4, (9,))
    index = torch.randint(0, 9, (3, 7))
    weights = torch.rand(3, 7).double() if weighted else None
    before = [each.clone() for each in stacks]
    expected, grads = chain_gradients([True, False], stacks, samples[index], labels[index], weights)

    losses = chain_descend([True, False], stacks, [], (samples, labels), index, weights, Descent(0.3))

    torch.testing.assert_close(losses, expected, rtol=0, atol=1e-14)
    for old, new, gradient in zip(before, stacks, grads, strict=True):
        torch.testing.assert_close(new, old - 0.3 * gradient, rtol=0, atol=1e-14)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_a_written_out_descent_equals_torchs_sgd(momentum: float, decay: float) -> None:
    torch.manual_seed(3)
    module = nn.Sequential(nn.Flatten(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4)).double()
    x, y, index = torch.randn(9, 2, 3).double(), torch.randint(0, 4, (9,)), torch.randint(0, 9, (4, 1, 7))
    stacks = [param.detach()[None].clone() for param in module.parameters()]
    velocity = [torch.zeros_like(stack) for stack in stacks] if momentum else []
    torchs = torch.optim.SGD(module.parameters(), 0.3, momentum=momentum, weight_decay=decay)

    for step in index:
        torchs.zero_grad()
        nn.functional.cross_entropy(module(x[step[0]]), y[step[0]]).backward()
        torchs.step()
        chain_descend([True, False], stacks, velocity, (x, y), step, None, Descent(0.3, momentum, decay))

    for stack, param in zip(stacks, module.parameters(), strict=True):
        torch.testing.assert_close(stack[0], param.detach(), rtol=0, atol=1e-13)


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
