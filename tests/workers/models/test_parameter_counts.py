"""Published parameter counts, asserted of the declared fact and of the built network."""

from typing import Any

import pytest

from workers.catalog import load_catalog
from workers.catalog.component import Shape

HAR, DIGIT, COLOUR = (561,), (1, 28, 28), (3, 32, 32)

PUBLISHED = [
    ("logistic", DIGIT, 10, {}, 7_850),
    ("mlp-50", HAR, 6, {}, 28_406),
    ("mlp-256-128-64", DIGIT, 10, {}, 242_762),
    ("mlp", DIGIT, 10, {}, 785 * 128 + 129 * 10),
    ("cnn", DIGIT, 10, {}, 10 * 32 + 289 * 64 + 3137 * 128 + 129 * 10),
    ("lenet", DIGIT, 10, {}, 44_426),
    ("lenet", COLOUR, 10, {}, 62_006),
    ("lenet", COLOUR, 100, {}, 69_656),
    ("cnn-32-64-64", COLOUR, 10, {}, 167_562),
    ("cnn-32-64-100", DIGIT, 10, {}, 179_926),
    ("cnn-32-64-100", COLOUR, 10, {}, 250_902),
    ("cnn-32-64-100", DIGIT, 62, {}, 185_178),
    ("cnn-32-64-512", DIGIT, 62, {}, 1_656_766),
    ("detector", COLOUR, 2, {}, 138_497),
    ("athena-detector", COLOUR, 2, {}, 131_233),
    ("resnet18", COLOUR, 100, {}, 11_227_812),
    ("resnet18", COLOUR, 1000, {}, 11_689_512),
    ("torchvision", COLOUR, 1000, {}, 11_689_512),
    ("mobilenet", COLOUR, 1000, {}, 4_231_976),
    ("mobilenet-v2", COLOUR, 1000, {}, 3_504_872),
    ("xception", COLOUR, 1000, {}, 22_855_952),
]
# What the options add: scale and shift for each normalised channel, one slope for each PReLU, a smaller stem.
OPTIONS = [
    ("mlp", HAR, 6, {"hidden": [50]}, 28_406),
    ("mlp", DIGIT, 10, {"hidden": [256, 128, 64], "activation": "tanh"}, 242_762),
    ("cnn", DIGIT, 62, {"widths": [32, 64], "dense": [512]}, 1_656_766),
    ("cnn", DIGIT, 10, {"widths": [6, 16], "dense": [120, 84], "kernel": 5, "padding": 0}, 44_426),
    ("mlp-50", HAR, 6, {"norm": "batch"}, 28_406 + 100),
    ("mlp-50", HAR, 6, {"norm": "layer", "activation": "prelu"}, 28_406 + 100 + 1),
    ("mlp-256-128-64", DIGIT, 10, {"norm": "group", "dropout": 0.5}, 242_762 + 2 * (256 + 128 + 64)),
    ("lenet", DIGIT, 10, {"activation": "prelu"}, 44_426 + 4),
    ("cnn-32-64-512", DIGIT, 62, {"norm": "layer", "activation": "gelu"}, 1_656_766 + 2 * 96),
    ("cnn-32-64-512", DIGIT, 62, {"norm": "group", "activation": "elu"}, 1_656_766 + 2 * 96),
    ("cnn-32-64-512", DIGIT, 62, {"norm": "batch", "activation": "leaky"}, 1_656_766 + 2 * 96),
    ("detector", COLOUR, 10, {}, 138_497 + 9 * 113),
    ("athena-detector", COLOUR, 10, {}, 131_233 + 9 * 513),
    ("resnet18", COLOUR, 100, {"stem": "cifar", "norm": "group"}, 11_227_812 - 64 * 3 * (49 - 9)),
    ("mobilenet-v2", COLOUR, 1000, {"width": 0.5}, 1_968_680),
    ("mobilenet", COLOUR, 10, {"width": 0.25, "stem": "cifar"}, 215_642),
    ("xception", COLOUR, 10, {"norm": "group"}, 22_855_952 - 990 * 2049),
]


@pytest.mark.parametrize(("name", "shape", "classes", "options", "count"), PUBLISHED + OPTIONS)
def test_the_declared_and_the_built_count_are_the_published_one(
    name: str, shape: Shape, classes: int, options: dict[str, Any], count: int
) -> None:
    model = load_catalog().models[name]
    params = model.Params(**options)
    assert model.parameter_count(shape, classes, params) == count
    assert sum(each.numel() for each in model.build(shape, classes, params).parameters()) == count


def test_every_model_of_the_catalog_is_counted_here() -> None:
    assert {name for name, *_ in PUBLISHED} == set(load_catalog().models)


def test_without_parameters_the_defaults_are_counted() -> None:
    assert load_catalog().models["resnet18"].parameter_count(COLOUR, 100) == 11_227_812
