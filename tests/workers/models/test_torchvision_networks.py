"""torchvision's networks as the catalog offers them."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch
from torch import nn

from tests.workers.engine.tiny import distance, tiny
from workers.catalog import load_catalog
from workers.engine import simulate
from workers.errors import SpecError
from workers.models._torchvision_build import inspect_network
from workers.models.torchvision_networks import Network, network_layers
from workers.spec import parse_run
from workers.torchvision_shim import import_torchvision

MODEL = load_catalog().models["torchvision"]
SMALLEST = ["resnet18", "densenet121", "mobilenet_v3_small", "efficientnet_b0"]
"""Of each family; and of the mobile ones the newer."""


def run_spec(network: str, **changes: Any) -> dict[str, Any]:
    """Two clients of six pictures, two steps each."""
    options = {"stem": "cifar", "width": 0.125} | changes.pop("model", {})
    return tiny(
        **{
            "dataset": {"name": "blobs", "shape": [1, 8, 8], "classes": 3, "train": 12, "test": 3},
            "model": {"name": "torchvision", "network": network, **options},
            "partition": {"name": "iid"},
            "clients": 2,
            "cohort": None,
            "rounds": 1,
            "local": {"epochs": 2, "batch_size": 6, "optimizer": {"name": "sgd", "lr": 0.01}},
        }
        | changes
    )


def test_the_table_holds_the_layers_of_the_networks_that_are_installed() -> None:
    """If it does not: python -m workers.models._torchvision_build"""
    assert network_layers() == {network: inspect_network(network) for network in get_args(Network)}


def test_every_count_is_the_one_that_torchvision_publishes_with_its_weights() -> None:
    models = import_torchvision().models
    published = {name: models.get_model_weights(name).DEFAULT.meta["num_params"] for name in get_args(Network)}

    counts = {
        name: MODEL.parameter_count((3, 224, 224), 1000, MODEL.Params(network=name)) for name in get_args(Network)
    }

    assert counts == published
    assert (counts["resnet50"], counts["densenet121"], counts["efficientnet_b0"]) == (25_557_032, 7_978_856, 5_288_548)


def test_every_network_of_the_four_families_is_offered() -> None:
    installed = import_torchvision().models.list_models(module=import_torchvision().models)
    families = ("resnet", "densenet", "mobilenet", "efficientnet")

    assert set(get_args(Network)) == {name for name in installed if name.startswith(families)}


@pytest.mark.parametrize("network", [*SMALLEST, "mobilenet_v2"])
def test_at_its_defaults_a_network_is_torchvisions_own_to_the_bit(network: str) -> None:
    models = import_torchvision().models
    torch.manual_seed(5)
    published = models.get_model(network, weights=None, num_classes=7)
    torch.manual_seed(5)
    own = MODEL.build((3, 32, 32), 7, MODEL.Params(network=network))
    x = torch.rand(2, 3, 32, 32)

    assert all(map(torch.equal, own.parameters(), published.parameters()))
    assert torch.equal(own.eval()(x), published.eval()(x))


@pytest.mark.parametrize("network", [*SMALLEST, "mobilenet_v2"])
@pytest.mark.parametrize("options", [{"norm": "group", "stem": "cifar", "width": 0.3}, {"norm": "none", "width": 0.5}])
def test_a_changed_network_builds_counts_and_learns(network: str, options: dict[str, Any]) -> None:
    params = MODEL.Params(network=network, **options)
    model = MODEL.build((1, 32, 32), 5, params)

    answer = model(torch.rand(2, 1, 32, 32))
    nn.functional.cross_entropy(answer, torch.tensor([0, 1])).backward()

    assert sum(each.numel() for each in model.parameters()) == MODEL.parameter_count((1, 32, 32), 5, params)
    assert not any(getattr(module, "inplace", False) for module in model.modules())
    assert not any(isinstance(module, nn.BatchNorm2d | nn.Dropout) for module in model.modules())
    assert answer.shape == (2, 5)
    assert all(each.grad is not None for each in model.parameters())


def test_a_width_multiplies_channels_and_densenets_growth() -> None:
    """Half of 64 to 512 channels. 0.4 of DenseNet's growth of 32 is 12, rounded down; 1024 / 32 * 12 features."""
    resnet = MODEL.build((3, 32, 32), 10, MODEL.Params(width=0.5))
    densenet = MODEL.build((3, 32, 32), 10, MODEL.Params(network="densenet121", width=0.4))

    assert [resnet.get_submodule(f"layer{stage}.0.conv1").out_channels for stage in (1, 2, 3, 4)] == [32, 64, 128, 256]
    assert resnet.get_submodule("fc").in_features == 256
    assert densenet.get_submodule("features.denseblock1.denselayer2.conv1").in_channels == 24 + 12
    assert densenet.get_submodule("classifier").in_features == 384


@pytest.mark.parametrize(
    ("network", "conv", "deviation"),
    [
        ("resnet18", "layer4.1.conv2", (2 / (256 * 9)) ** 0.5),
        ("densenet121", "features.transition3.conv", (2 / 512) ** 0.5),
    ],
)
def test_a_narrow_network_starts_as_its_family_does(network: str, conv: str, deviation: float) -> None:
    """He: variance 2 / fan out, of DenseNet 2 / fan in; at half the width 256 outputs and 512 inputs."""
    torch.manual_seed(0)
    narrow = MODEL.build((3, 32, 32), 10, MODEL.Params(network=network, width=0.5))

    assert narrow.get_submodule(conv).weight.std().item() == pytest.approx(deviation, rel=0.01)


@pytest.mark.parametrize(
    ("network", "stem", "sides"),
    [
        ("resnet18", "imagenet", 8),
        ("resnet18", "cifar", 32),
        ("mobilenet_v2", "imagenet", 16),
        ("mobilenet_v2", "cifar", 32),
    ],
)
def test_the_cifar_stem_halves_nothing(network: str, stem: str, sides: int) -> None:
    """What the first block gets of 32 x 32."""
    model = MODEL.build((3, 32, 32), 10, MODEL.Params(network=network, stem=stem, width=0.125))
    seen: list[int] = []
    first = model.get_submodule("layer1" if network == "resnet18" else "features.1")
    first.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].shape[-1]))

    model(torch.rand(2, 3, 32, 32))

    assert seen == [sides]


@pytest.mark.parametrize(("stem", "least"), [("imagenet", 29), ("cifar", 8)])
def test_densenet_refuses_pictures_that_it_halves_to_nothing(stem: str, least: int) -> None:
    params = MODEL.Params(network="densenet121", stem=stem, width=0.125)
    small = least - 1
    assert f"it needs at least {least} x {least}." in str(MODEL.refusal((3, small, small), 10, params))
    assert MODEL.refusal((3, least, least), 10, params) is None
    network = MODEL.build((3, least, least), 10, params)
    assert network(torch.zeros(2, 3, least, least)).shape == (2, 10)
    with pytest.raises(RuntimeError):
        network(torch.zeros(2, 3, small, small))


def test_the_others_take_pictures_of_any_size_and_channels() -> None:
    for network in set(SMALLEST) - {"densenet121"} | {"mobilenet_v2", "efficientnet_v2_s"}:
        params = MODEL.Params(network=network, width=0.125)
        assert MODEL.refusal((2, 5, 9), 10, params) is None
        assert MODEL.build((2, 5, 9), 10, params)(torch.zeros(3, 2, 5, 9)).shape == (3, 10)


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"network": "resnet18", "dataset": {"name": "blobs", "shape": [9]}}, "model", "It needs pictures"),
        ({"network": "densenet121", "model": {"stem": "imagenet"}}, "model", "With stem: cifar it needs 8 x 8."),
        ({"network": "resnet50", "model": {"dropout": 0.1}}, "model.dropout", "resnet50 has no dropout"),
        ({"network": "densenet121", "model": {"dropout": 0.1}, "engine": "cohort"}, "engine", "engine: auto or seq"),
        ({"network": "efficientnet_b0", "model": {"dropout": 0.1}, "engine": "cohort"}, "engine", "stochastic depth"),
        ({"network": "vgg16"}, "model.network", "efficientnet_v2_l"),
        ({"network": "resnet18", "model": {"width": 0}}, "model.width", "greater than 0"),
        ({"network": "resnet18", "model": {"norm": "layer"}}, "model.norm", "'batch', 'group' or 'none'"),
    ],
)
def test_what_does_not_go_together_is_refused_before_a_run(changes: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(SpecError) as refusal:
        parse_run(run_spec(**changes))

    (problem,) = refusal.value.errors
    assert problem.path == path
    assert words in problem.message


@pytest.mark.parametrize(
    ("network", "norm"),
    [
        ("resnet18", "batch"),
        ("resnet18", "none"),
        ("densenet121", "batch"),
        ("mobilenet_v2", "batch"),
        ("mobilenet_v3_small", "group"),
        ("efficientnet_b0", "batch"),
    ],
)
def test_a_stack_of_clients_learns_what_they_learn_one_at_a_time(network: str, norm: str) -> None:
    spec = run_spec(network, model={"norm": norm})

    stacked, single = simulate({**spec, "engine": "cohort"}), simulate({**spec, "engine": "sequential"})

    assert stacked.provenance["engine"] == "cohort"
    assert distance(stacked, single) < 1e-9


def test_dropout_that_has_modules_is_stacked() -> None:
    spec = run_spec("mobilenet_v3_small", model={"dropout": 0.4})
    network = MODEL.build((1, 8, 8), 3, parse_run(spec).model)

    stacked, single = simulate({**spec, "engine": "cohort"}), simulate({**spec, "engine": "sequential"})

    assert [module.p for module in network.modules() if isinstance(module, nn.Dropout)] == [0.4]
    assert distance(stacked, single) < 1e-9


@pytest.mark.parametrize("network", ["densenet121", "efficientnet_b0"])
def test_dropout_that_cannot_be_stacked_goes_one_client_at_a_time(network: str) -> None:
    result = simulate(run_spec(network, model={"dropout": 0.4}, engine="auto"))

    assert result.provenance["engine"] == "sequential"
    assert [record.round for record in result.history] == [0, 1]
