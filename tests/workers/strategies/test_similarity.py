"""Batched similarities of all pairs against two models at a time, computed as the definitions say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from workers.strategies._similarity import MEASURES, similarities

MODELS = 5
SHAPES = {"conv.weight": (6, 2, 3, 3), "conv.bias": (6,), "fc.weight": (4, 3), "fc.bias": (4,)}


def hsic(k: np.ndarray, other: np.ndarray) -> float:
    h = np.eye(len(k)) - 1 / len(k)
    return float(np.trace(k @ h @ other @ h) / (len(k) - 1) ** 2)


def cka(k: np.ndarray, other: np.ndarray) -> float:
    return float(hsic(k, other) / np.sqrt(hsic(k, k) * hsic(other, other)))


def rbf(x: np.ndarray) -> np.ndarray:
    distances = np.array([[np.linalg.norm(one - other) for other in x] for one in x])
    sigma = 0.5 * np.median([distances[i, j] for i in range(len(x)) for j in range(i)])
    kernel: np.ndarray = np.exp(-(distances**2) / (2 * sigma**2))
    return kernel


def unexplained(x: np.ndarray, last: np.ndarray) -> np.ndarray:
    k, common = x @ x.T, last @ last.T
    (alpha,), *_ = np.linalg.lstsq(common.reshape(-1, 1), k.ravel(), rcond=None)
    return k - alpha * common


def leading(x: np.ndarray) -> np.ndarray:
    u, s, _ = np.linalg.svd(x - x.mean(0), full_matrices=False)
    shares = np.cumsum(s**2) / np.sum(s**2)
    return u[:, : int(np.searchsorted(shares, 0.99)) + 1]


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    canonical = np.linalg.svd(leading(x).T @ leading(y), compute_uv=False)
    return float(np.mean(canonical**2))


DEFINITIONS: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], float]] = {
    "osad": lambda x, y, last: -float(np.abs(x - y).sum()),
    "cca": lambda x, y, last: correlation(x, y),
    "cka-linear": lambda x, y, last: cka(x @ x.T, y @ y.T),
    "cka-rbf": lambda x, y, last: cka(rbf(x), rbf(y)),
    "dcka": lambda x, y, last: cka(unexplained(x, last), unexplained(y, last)),
}


def models() -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    rng = np.random.default_rng(3)
    last = {name: torch.from_numpy(rng.standard_normal(shape)) for name, shape in SHAPES.items()}
    noise = {name: torch.from_numpy(rng.standard_normal((MODELS, *shape))) for name, shape in SHAPES.items()}
    return {name: last[name] + 0.5 * noise[name] for name in SHAPES}, last


@pytest.mark.parametrize("measure", MEASURES)
def test_all_pairs_at_once_are_the_mean_over_layers_of_the_definition(measure: str) -> None:
    stacks, last = models()

    similarity = similarities(stacks, last, measure).numpy()

    for i in range(MODELS):
        for j in range(i):
            layers = [
                DEFINITIONS[measure](
                    stacks[name][i].flatten(1).numpy(),
                    stacks[name][j].flatten(1).numpy(),
                    last[name].flatten(1).numpy(),
                )
                for name in ("conv.weight", "fc.weight")
            ]
            assert similarity[i, j] == pytest.approx(np.mean(layers), abs=1e-12)
            assert similarity[j, i] == pytest.approx(similarity[i, j], abs=1e-15)


def test_sum_of_absolute_differences_by_hand() -> None:
    stacks = {"w": torch.tensor([[[1.0, 2.0]], [[0.0, 5.0]]]), "v": torch.tensor([[[1.0]], [[1.0]]])}

    assert similarities(stacks, {"w": stacks["w"][0], "v": stacks["v"][0]}, "osad").tolist() == [[0, -2], [-2, 0]]


def test_linear_cka_by_hand() -> None:
    """Rows (1, 0), (0, 1), (0, 0) against (1, 0), (0, 0), (0, 1). Centred, both kernels have the same norm:

    K = 1/9 [[5, -4, -1], [-4, 5, -1], [-1, -1, 2]], L the same with the last two rows and columns exchanged;
    K . K = 90 / 81, K . L = (25 + 10 + 10 + 2 * (4 + 4 + 1)) / 81 = 63 / 81.
    """
    x = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]])

    similarity = similarities({"w": x}, {"w": x[0]}, "cka-linear")

    assert similarity.tolist() == [pytest.approx([1.0, 0.7]), pytest.approx([0.7, 1.0])]


@pytest.mark.parametrize("measure", ["cca", "cka-linear", "cka-rbf", "dcka"])
def test_a_model_is_most_like_itself(measure: str) -> None:
    stacks, last = models()

    similarity = similarities(stacks, last, measure)

    assert similarity.diagonal().tolist() == pytest.approx([1.0] * MODELS)
    assert float(similarity.max()) < 1 + 1e-12


@pytest.mark.parametrize("measure", MEASURES)
def test_one_diverged_model_leaves_the_others_comparable(measure: str) -> None:
    stacks, last = models()
    whole = similarities(stacks, last, measure)
    stacks["fc.weight"][2] = float("nan")

    similarity = similarities(stacks, last, measure)

    others = [0, 1, 3, 4]
    torch.testing.assert_close(similarity[others][:, others], whole[others][:, others])
