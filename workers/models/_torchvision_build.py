"""torchvision's networks, changed for federations. `python -m workers.models._torchvision_build` lists their layers."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, get_args

import torch
from torch import nn

from workers.models._blocks import plane_norm
from workers.models.torchvision_networks import (
    CIFAR_KERNEL,
    TABLE,
    Layer,
    Layers,
    Network,
    TorchvisionOptions,
    family_of,
    network_layers,
)
from workers.torchvision_shim import import_torchvision

DROPOUT_ARGUMENTS = {
    "resnet": (),
    "densenet": ("drop_rate",),
    "mobilenet": ("dropout",),
    "efficientnet": ("dropout", "stochastic_depth_prob"),
}


def build_network(channels: int, classes: int, options: TorchvisionOptions) -> nn.Module:
    family = family_of(options.network)
    dropout = dict.fromkeys(DROPOUT_ARGUMENTS[family], options.dropout)
    model = published_network(options.network, num_classes=classes, **dropout)
    change_stem(model, channels, options.stem, family)
    if options.width != 1:
        change_width(model, network_layers()[options.network], options.width, family)
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.BatchNorm2d) and options.norm != "batch":
            norm = nn.Identity() if options.norm == "none" else plane_norm(options.norm, module.num_features)
            replace_module(model, name, norm)
        elif isinstance(module, nn.Dropout) and not module.p:
            replace_module(model, name, nn.Identity())
        elif getattr(module, "inplace", False):
            module.inplace = False
    return model


def published_network(network: str, **options: Any) -> nn.Module:
    model: nn.Module = import_torchvision().models.get_model(network, weights=None, **options)
    return model


def change_stem(model: nn.Module, channels: int, stem: str, family: str) -> None:
    name, first = first_convolution(model)
    if stem == "cifar" or first.in_channels != channels:
        kernel, stride = (CIFAR_KERNEL, 1) if stem == "cifar" else (int(first.kernel_size[0]), int(first.stride[0]))
        conv = nn.Conv2d(channels, first.out_channels, kernel, stride, padding=kernel // 2, bias=False)
        replace_module(model, name, initialise_layer(conv, family))
    if stem == "cifar":
        # ResNet and DenseNet halve a second time before their first block; nothing else has max pooling.
        for name, module in list(model.named_modules()):
            if isinstance(module, nn.MaxPool2d):
                replace_module(model, name, nn.Identity())


def change_width(model: nn.Module, layers: Layers, width: float, family: str) -> None:
    """All layers anew, of scaled channel counts; picture channels and classes stay."""
    (_, first), last = first_convolution(model), last_linear(model)
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.Conv2d):
            inputs = module.in_channels if module is first else layers.scaled(module.in_channels, width)
            conv = nn.Conv2d(
                inputs,
                layers.scaled(module.out_channels, width),
                module.kernel_size,  # type: ignore[arg-type]
                module.stride,  # type: ignore[arg-type]
                module.padding,  # type: ignore[arg-type]
                groups=inputs if module.groups > 1 else 1,
                bias=module.bias is not None,
            )
            replace_module(model, name, initialise_layer(conv, family))
        elif isinstance(module, nn.BatchNorm2d):
            features = layers.scaled(module.num_features, width)
            replace_module(model, name, nn.BatchNorm2d(features, module.eps, module.momentum))
        elif isinstance(module, nn.Linear):
            outputs = module.out_features if module is last else layers.scaled(module.out_features, width)
            linear = nn.Linear(layers.scaled(module.in_features, width), outputs)
            replace_module(model, name, initialise_layer(linear, family))


def initialise_layer(layer: nn.Conv2d | nn.Linear, family: str) -> nn.Module:
    """As torchvision's own network of that family does it."""
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, mode="fan_in" if family == "densenet" else "fan_out", nonlinearity="relu")
    elif family == "mobilenet":
        nn.init.normal_(layer.weight, 0, 0.01)
    elif family == "efficientnet":
        bound = layer.out_features**-0.5
        nn.init.uniform_(layer.weight, -bound, bound)
    if layer.bias is not None and family != "resnet":
        nn.init.zeros_(layer.bias)
    return layer


def first_convolution(model: nn.Module) -> tuple[str, nn.Conv2d]:
    return next((name, module) for name, module in model.named_modules() if isinstance(module, nn.Conv2d))


def last_linear(model: nn.Module) -> nn.Linear:
    return [module for module in model.modules() if isinstance(module, nn.Linear)][-1]


def replace_module(model: nn.Module, name: str, module: nn.Module) -> None:
    parent, _, child = name.rpartition(".")
    setattr(model.get_submodule(parent), child, module)


def inspect_network(network: str) -> Layers:
    """The layers of the network as torchvision has it, built on no device: nothing is computed."""
    with torch.device("meta"):
        model = published_network(network, num_classes=1)
    (_, first), last = first_convolution(model), last_linear(model)
    dense_layer = dict(model.named_modules()).get("features.denseblock1.denselayer1.conv2")
    unit = dense_layer.out_channels if isinstance(dense_layer, nn.Conv2d) else 1
    layers: Counter[tuple[int, int, int, bool, bool]] = Counter()
    norms: Counter[int] = Counter()
    for module in model.modules():
        if isinstance(module, nn.Conv2d) and module is not first:
            form = module.in_channels, module.out_channels, int(module.kernel_size[0]), module.groups > 1
            layers[*form, module.bias is not None] += 1
        elif isinstance(module, nn.Linear) and module is not last:
            layers[module.in_features, module.out_features, 1, False, True] += 1
        elif isinstance(module, nn.BatchNorm2d):
            norms[module.num_features] += 1
    forms = [Layer(*form, times) for form, times in sorted(layers.items())]
    kernel = int(first.kernel_size[0])
    return Layers(unit, first.out_channels, kernel, last.in_features, forms, sorted(norms.items()))


def write_table() -> None:
    rows = []
    for network in get_args(Network):
        layers = inspect_network(network)
        numbers = [[int(number) for number in layer] for layer in layers.layers]
        rows.append(f'"{network}": {json.dumps({**layers._asdict(), "layers": numbers}, separators=(",", ":"))}')
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    write_table()
