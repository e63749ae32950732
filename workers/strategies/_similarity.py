"""Similarities of all pairs of models in a cohort, on their weights.

Every tensor of two or more dimensions is a layer X of shape (outputs, rest); the similarity of two models is the plain
mean over layers. All measures but OSAD compare one small matrix per model and layer, outputs x outputs: flattened and
scaled to length one, those of all models make all pairs a single matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch

from workers.engine.messages.arrays import Tensors

VARIANCE_KEPT = 0.99

Measure = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""From a layer of all models [models, outputs, rest] and that of the last global model to all pairs."""


def similarities(stacks: Tensors, last: Tensors, measure: str) -> torch.Tensor:
    """[models, models], symmetric, in double precision. `stacks` has the parameters of all models by name."""
    layers = [name for name, stack in stacks.items() if stack.ndim > 2]
    models = len(next(iter(stacks.values())))
    total = torch.zeros(models, models, dtype=torch.float64)
    for name in layers:
        total += MEASURES[measure](stacks[name].flatten(2), last[name].flatten(1)).cpu()
    return total / max(1, len(layers))


def osad(layer: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """The opposite of the sum of absolute differences. Each pair is computed once."""
    models = len(layer)
    upper = torch.triu_indices(models, models, 1)
    result = torch.zeros(models, models, dtype=torch.float64)
    result[upper[0], upper[1]] = -torch.pdist(layer.flatten(1), p=1).double().cpu()
    return result + result.T


def cka_linear(layer: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """HSIC(K, L) / sqrt(HSIC(K, K) HSIC(L, L)) with K = X X^T."""
    return kernel_alignment(gram_matrices(layer))


def cka_rbf(layer: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """The same with K = exp(-d^2 / (2 sigma^2)), sigma half the median distance of two different rows of X."""
    squares = row_distances(gram_matrices(layer))
    outputs = squares.shape[1]
    upper = torch.triu_indices(outputs, outputs, 1, device=squares.device)
    if not upper.shape[1]:
        return torch.zeros(len(layer), len(layer), dtype=torch.float64)
    sigma = 0.5 * row_medians(squares[:, upper[0], upper[1]].sqrt())
    return kernel_alignment(torch.exp(-squares / (2 * sigma.square()).view(-1, 1, 1)))


def dcka(layer: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """Linear CKA of K - alpha K0: what the last global model's kernel K0 explains, by least squares, is taken out."""
    kernels, common = gram_matrices(layer), gram_matrices(last[None])
    alpha = (kernels * common).sum((1, 2)) / common.square().sum()
    return kernel_alignment(kernels - alpha.view(-1, 1, 1) * common)


def cca(layer: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    """The mean squared canonical correlation of the leading directions that hold 99 % of a layer's variance.

    With all directions a layer of more columns than rows would be like any other. U U^T is a kernel: the sum of
    squared correlations is the product of two of them, and there are as many as the smaller has directions.
    """
    kernels = torch.nan_to_num(centre_kernels(gram_matrices(layer)))
    values, vectors = torch.linalg.eigh(kernels)
    values, vectors = values.clamp(min=0).flip(1), vectors.flip(2)
    held_before = values.cumsum(1) - values
    leading = held_before < VARIANCE_KEPT * values.sum(1, keepdim=True)
    bases = vectors * leading.unsqueeze(1)
    projections = (bases @ bases.transpose(1, 2)).flatten(1)
    directions = leading.sum(1).double()
    fewer = torch.minimum(directions[:, None], directions).clamp(min=1)
    correlation: torch.Tensor = projections @ projections.T / fewer
    return correlation


MEASURES: Mapping[str, Measure] = {
    "osad": osad,
    "cca": cca,
    "cka-linear": cka_linear,
    "cka-rbf": cka_rbf,
    "dcka": dcka,
}


def gram_matrices(layer: torch.Tensor) -> torch.Tensor:
    return torch.bmm(layer, layer.transpose(1, 2)).double()


def centre_kernels(kernels: torch.Tensor) -> torch.Tensor:
    """H K H."""
    return kernels - kernels.mean(1, keepdim=True) - kernels.mean(2, keepdim=True) + kernels.mean((1, 2), keepdim=True)


def kernel_alignment(kernels: torch.Tensor) -> torch.Tensor:
    """CKA of all pairs of kernels; one that is constant once it is centred is like no other."""
    flat = centre_kernels(kernels).flatten(1)
    unit = flat / flat.norm(dim=1, keepdim=True).clamp(min=torch.finfo(flat.dtype).tiny)
    cosines: torch.Tensor = unit @ unit.T
    return cosines


def row_distances(kernels: torch.Tensor) -> torch.Tensor:
    """Squared distances of all rows of X, from X X^T."""
    squares = kernels.diagonal(dim1=1, dim2=2)
    return (squares.unsqueeze(1) + squares.unsqueeze(2) - 2 * kernels).clamp(min=0)


def row_medians(values: torch.Tensor) -> torch.Tensor:
    """Of each row; of an even number of values the mean of the middle two."""
    ordered, count = values.sort(1).values, values.shape[1]
    middle: torch.Tensor = (ordered[:, (count - 1) // 2] + ordered[:, count // 2]) / 2
    return middle
