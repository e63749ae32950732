from typing import Any

import pytest
import torch
from pydantic import ValidationError

from workers.catalog import load_catalog
from workers.catalog.component import Shape
from workers.models._blocks import activation_layer, groups_of

MODELS = load_catalog().models
PICTURES_ONLY = {"cnn", "lenet", "cnn-32-64-64", "cnn-32-64-100", "cnn-32-64-512", "detector", "athena-detector"} | {
    "resnet18",
    "mobilenet",
    "mobilenet-v2",
    "xception",
    "torchvision",
}


def refusal(name: str, shape: Shape) -> str | None:
    return MODELS[name].refusal(shape, 10, MODELS[name].Params())


@pytest.mark.parametrize("name", sorted(PICTURES_ONLY))
def test_convolutions_refuse_features(name: str) -> None:
    assert refusal(name, (561,)) == (
        "It needs pictures (channels, height, width); the data has shape [561]. Choose an MLP."
    )


@pytest.mark.parametrize("name", sorted(set(MODELS) - PICTURES_ONLY))
def test_dense_models_take_features_and_pictures(name: str) -> None:
    assert refusal(name, (561,)) is None
    assert refusal(name, (3, 32, 32)) is None


@pytest.mark.parametrize(
    ("name", "side"),
    [("lenet", 16), ("cnn-32-64-100", 10), ("cnn-32-64-512", 4), ("detector", 8), ("athena-detector", 32)],
)
def test_pictures_that_are_too_small_are_refused_with_the_least_size(name: str, side: int) -> None:
    small = side - 1
    assert refusal(name, (1, small, small)) == (
        f"Pictures of {small} x {small} are too small: it needs at least {side} x {side}."
    )
    assert refusal(name, (1, side, side)) is None
    network = MODELS[name].build((1, side, side), 10, MODELS[name].Params())
    assert network(torch.zeros(2, 1, side, side)).shape == (2, 10)


@pytest.mark.parametrize(("init", "deviation"), [("he", (2 / (64 * 9)) ** 0.5), ("torch", (1 / (3 * 64 * 9)) ** 0.5)])
def test_a_deep_model_starts_as_its_option_says(init: str, deviation: float) -> None:
    """He: normal of variance 2 / fan out. torch's own: uniform within sqrt(1 / fan in), of variance a third of that."""
    torch.manual_seed(0)
    network = MODELS["resnet18"].build((3, 8, 8), 10, MODELS["resnet18"].Params(init=init))
    weights = next(each.weight for each in network.modules() if getattr(each, "kernel_size", ()) == (3, 3))
    assert weights.std().item() == pytest.approx(deviation, rel=0.02)


@pytest.mark.parametrize("name", ["mobilenet", "mobilenet-v2"])
def test_the_mobile_networks_drop_features_before_the_last_layer(name: str) -> None:
    network = MODELS[name].build((3, 8, 8), 10, MODELS[name].Params(width=0.1, dropout=0.3))
    *_, dropout, last = network.children()
    assert (dropout.p, type(last)) == (0.3, torch.nn.Linear)


@pytest.mark.parametrize(
    ("name", "width"), [("resnet18", None), ("mobilenet", 0.1), ("mobilenet-v2", 0.1), ("xception", 0.05)]
)
def test_deep_models_take_any_picture(name: str, width: float | None) -> None:
    params = MODELS[name].Params(**({"width": width} if width else {}))
    for shape in [(1, 8, 8), (3, 32, 33)]:
        assert MODELS[name].fits(shape, 10)
        assert MODELS[name].build(shape, 5, params)(torch.zeros(2, *shape)).shape == (2, 5)


def test_the_detectors_one_logit_makes_cross_entropy_binary() -> None:
    network = MODELS["detector"].build((3, 16, 16), 2, MODELS["detector"].Params())
    answer = network(torch.rand(4, 3, 16, 16))
    labels = torch.tensor([0, 1, 1, 0])
    binary = torch.nn.functional.binary_cross_entropy_with_logits(answer[:, 1], labels.float())
    assert answer[:, 0].tolist() == [0.0] * 4
    assert torch.allclose(torch.nn.functional.cross_entropy(answer, labels), binary)


def test_dropout_is_a_plain_module_after_each_hidden_layer() -> None:
    network = MODELS["mlp-256-128-64"].build((10,), 3, MODELS["mlp-256-128-64"].Params(dropout=0.25))
    assert [module.p for module in network.modules() if isinstance(module, torch.nn.Dropout)] == [0.25] * 3


@pytest.mark.parametrize(("channels", "groups"), [(6, 1), (16, 2), (50, 5), (64, 8), (256, 32), (512, 32), (728, 28)])
def test_groups_divide_the_channels_with_eight_or_more_each(channels: int, groups: int) -> None:
    assert groups_of(channels) == groups


@pytest.mark.parametrize(
    ("name", "free"), [("mlp-256-128-64", {"hidden": (256, 128, 64)}), ("mlp-50", {"hidden": [50]})]
)
def test_an_mlp_of_given_sizes_is_the_network_of_that_name(name: str, free: dict[str, Any]) -> None:
    networks = []
    for model, options in ((name, {}), ("mlp", free)):
        torch.manual_seed(3)
        networks.append(MODELS[model].build((20,), 4, MODELS[model].Params(**options)).state_dict())
    assert all(torch.equal(value, networks[1][key]) for key, value in networks[0].items())


def test_a_cnn_of_more_layers_than_a_picture_can_be_halved_is_refused() -> None:
    params = MODELS["cnn"].Params(widths=[8, 8, 8, 8])
    assert MODELS["cnn"].refusal((1, 8, 8), 10, params) == (
        "Pictures of 8 x 8 are too small: it needs at least 16 x 16."
    )


@pytest.mark.parametrize("sizes", [[], [0], [2.5]])
def test_sizes_of_layers_are_whole_numbers_from_one(sizes: list[float]) -> None:
    with pytest.raises(ValidationError):
        MODELS["mlp"].Params(hidden=sizes)


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"activation": "leaky"}, -0.02),
        ({"activation": "leaky", "slope": 0.25}, -0.5),
        ({"activation": "elu"}, -0.864665),
        ({"activation": "elu", "alpha": 2.0}, -1.729329),
        ({"activation": "tanh"}, -0.964028),
    ],
)
def test_activations_have_their_parameters(options: dict[str, Any], answer: float) -> None:
    """Of -2: 0.01 and 0.25 times it, exp(-2) - 1 and twice that, and tanh(-2)."""
    layer = activation_layer(MODELS["mlp"].Params(**options))
    assert layer(torch.tensor(-2.0)).item() == pytest.approx(answer, abs=1e-6)
