"""Every model runs stacked over clients: vmap of a functional call equals one client at a time."""

from typing import Any

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

from workers.catalog import load_catalog

CLIENTS, BATCH, SIDE = 2, 3, 16
SIDES = {"athena-detector": 32}
# Options worth trying, and narrow versions of what is large; any other model is tried as it is.
CHEAP: dict[str, list[dict[str, Any]]] = {
    "mlp-50": [{"norm": norm, "activation": "prelu"} for norm in ("none", "batch", "layer", "group")],
    "mlp-256-128-64": [{"activation": "gelu"}],
    "mlp": [{"hidden": [8, 4], "norm": norm, "activation": "tanh"} for norm in ("batch", "group")],
    "cnn": [{"widths": [8, 16], "dense": [8], "norm": norm} for norm in ("batch", "group")],
    "lenet": [{"norm": "batch", "activation": "elu"}],
    "cnn-32-64-100": [{"activation": "leaky"}],
    "cnn-32-64-512": [{"norm": norm, "activation": "prelu"} for norm in ("batch", "layer", "group")],
    "resnet18": [{}, {"norm": "group", "stem": "cifar"}],
    "torchvision": [
        {"network": "mobilenet_v3_small", "norm": norm, "stem": "cifar", "width": 0.25} for norm in ("batch", "group")
    ],
    "mobilenet": [{"width": 0.1, "stem": "cifar"}, {"width": 0.1, "norm": "group"}],
    "mobilenet-v2": [{"width": 0.1, "stem": "cifar"}, {"width": 0.1, "norm": "group"}],
    "xception": [{"width": 0.05, "stem": "cifar"}, {"width": 0.05, "norm": "group"}],
}
CASES = [(name, options) for name in load_catalog().models for options in CHEAP.get(name, [{}])]


def built(name: str, options: dict[str, Any], classes: int = 2) -> list[torch.nn.Module]:
    model = load_catalog().models[name]
    torch.manual_seed(7)
    side = SIDES.get(name, SIDE)
    return [model.build((2, side, side), classes, model.Params(**options)).double() for _ in range(CLIENTS)]


def pictures(name: str, *count: int) -> torch.Tensor:
    side = SIDES.get(name, SIDE)
    return torch.rand(*count, 2, side, side, dtype=torch.float64)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_stacked_outputs_gradients_and_buffers_equal_those_of_single_clients(
    name: str, options: dict[str, Any]
) -> None:
    networks = built(name, options)
    parameters, buffers = stack_module_state(networks)
    x = pictures(name, CLIENTS, BATCH)

    def forward(values: Any, state: Any, batch: torch.Tensor) -> torch.Tensor:
        return functional_call(networks[0], (values, state), (batch,))

    stacked = vmap(forward)(parameters, buffers, x)
    stacked.square().sum().backward()
    for client, network in enumerate(networks):
        single = network(x[client])
        single.square().sum().backward()
        assert torch.allclose(stacked[client], single, atol=1e-9)
        for key, value in network.named_parameters():
            assert torch.allclose(parameters[key].grad[client], value.grad, rtol=1e-6, atol=1e-7), key
        for key, value in network.named_buffers():
            assert torch.allclose(buffers[key][client].double(), value.double(), atol=1e-9), key


@pytest.mark.parametrize(("name", "options"), CASES)
def test_a_model_says_whether_it_uses_batch_statistics(name: str, options: dict[str, Any]) -> None:
    """In training, without them, a sample's output is the same whatever else is in its batch."""
    model = load_catalog().models[name]
    network = built(name, options)[0]
    x = pictures(name, BATCH)
    independent = torch.allclose(network(x)[:2], network(x[:2]), atol=1e-9)
    assert independent is not model.batch_statistics(model.Params(**options))


@pytest.mark.parametrize(("name", "options"), CASES)
def test_the_same_torch_seed_builds_the_same_network(name: str, options: dict[str, Any]) -> None:
    one, other = built(name, options)[0].state_dict(), built(name, options)[0].state_dict()
    assert all(torch.equal(one[key], other[key]) for key in one)
