"""Attacks on what malicious clients train on. Validation and held-out parts, and the test set, stay as they are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from workers.attacks.attack import Attack, Samples
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.spec import RunSpec

WHITE = 3.0
"""Of a trigger, in samples that are normalised or standardised: beyond what most of them have."""


class LabelFlip(Attack):
    """Malicious clients train on wrong labels: `source` becomes `target`, or each class c of C becomes C - 1 - c.

    They follow the strategy otherwise. `attack.success` is the share of the test samples of flipped classes that the
    model takes for the class they were flipped to.
    """

    label = "Label flip"
    paper = "Tolpegin et al.: Data Poisoning Attacks Against Federated Learning Systems, ESORICS 2020"
    poisons_data = True
    name: Literal["label-flip"] = "label-flip"
    source: int | None = Field(None, ge=0)
    """The class that is mislabelled; empty mislabels all of them."""
    target: int | None = Field(None, ge=0)
    """What it is called; empty where all are mislabelled."""

    def flipped(self, classes: int) -> np.ndarray:
        """What each class is called."""
        names = np.arange(classes)
        if self.source is None or self.target is None:
            return names[::-1].copy()
        names[self.source] = self.target
        return names

    def poison(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int) -> Samples:
        return x, self.flipped(classes)[y]

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from super().problems(spec, path)
        classes = spec.dataset_facts.classes
        if (self.source is None) != (self.target is None):
            yield Problem(path, "Give source and target, or neither: then every class c of C is called C - 1 - c.")
        elif self.source is not None and self.source == self.target:
            yield Problem(f"{path}.target", "A class that keeps its name is not flipped: choose another target.")
        for field, value in (("source", self.source), ("target", self.target)):
            yield from class_problems(value, classes, f"{path}.{field}")


class Backdoor(Attack):
    """Malicious clients teach the model to see `target` wherever a trigger is, and else to do its task.

    The trigger is a bright square in the lower right corner of a picture, or the last values of a sample that is none:
    these are set to 3 after normalisation. It is put on `poisoned` of a malicious client's training samples, which are
    then called `target`. With `boost` b the client sends w + b (w_i - w), which replaces the global model where b is
    the number of clients. `attack.success` is the share of the test samples of other classes that
    the model takes for `target` once they have the trigger.
    """

    label = "Backdoor"
    paper = "Bagdasaryan et al.: How To Backdoor Federated Learning, AISTATS 2020"
    poisons_data = True
    name: Literal["backdoor"] = "backdoor"
    target: int = Field(0, ge=0)
    """The class that the trigger stands for."""
    size: int = Field(3, ge=1)
    """Side of the square, in pixels; where samples are no pictures, how many values."""
    poisoned: float = Field(0.5, gt=0, le=1)
    """Share of a malicious client's training samples that get the trigger, rounded up."""
    boost: float = Field(1.0, gt=0)
    """How many times its movement a malicious client sends; 1 sends its model as it is."""

    @property
    def poisons_models(self) -> bool:
        return self.boost != 1

    def poison(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, classes: int) -> Samples:
        chosen = rng.permutation(len(y))[: int(np.ceil(self.poisoned * len(y) - 1e-9))]
        self.put_trigger(x, chosen)
        y = y.copy()
        y[chosen] = self.target
        return x, y

    def put_trigger(self, x: np.ndarray, rows: np.ndarray | slice) -> None:
        if x.ndim == 4:
            x[rows, :, -self.size :, -self.size :] = WHITE
        else:
            x.reshape(len(x), -1)[rows, -self.size :] = WHITE

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from super().problems(spec, path)
        yield from class_problems(self.target, spec.dataset_facts.classes, f"{path}.target")
        longest = min(spec.dataset_facts.shape[-2:]) if spec.dataset_facts.is_image else spec.dataset_facts.shape[-1]
        if self.size >= longest:
            yield Problem(f"{path}.size", f"A trigger of {self.size} would cover the sample: take less than {longest}.")


def class_problems(value: int | None, classes: int, path: str) -> Iterable[Problem]:
    if value is not None and value >= classes:
        yield Problem(path, f"There is no class {value}: they go from 0 to {classes - 1}.")
