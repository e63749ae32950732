"""Pins and baselines as REST answers with them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from experiments.api.schemas import Answer, Number, example_config
from experiments.bookmarks.selectors import BaselineRow
from experiments.models import Pin

PIN: dict[str, Any] = {
    "study": 12,
    "name": "FedProx against FedAvg",
    "for_all": False,
    "created": "2026-03-01T12:00:00Z",
}
CELL = "5f2b7c0a91d34e68"
BASELINE: dict[str, Any] = {
    "id": 3,
    "study": 12,
    "cell": CELL,
    "label": "FedAvg · Digits · IID",
    "mean": 0.912,
    "std": 0.004,
    "n": 3,
    "starred_by": "mira",
    "created": "2026-03-01T12:00:00Z",
}


class PinAnswer(Answer):
    model_config = example_config(**PIN)

    study: int
    """Its number."""
    name: str
    """What it is called."""
    for_all: bool
    """Whether an admin pinned it for everyone; otherwise it is your own pin."""
    created: datetime
    """Since when."""


class BaselineAnswer(Answer):
    model_config = example_config(**BASELINE)

    id: int
    """Its number: `baseline` in the address of Compare."""
    study: int
    """The study that the cell is of."""
    cell: str
    """The cell's key."""
    label: str
    """What the cell tries."""
    mean: float | None
    """Accuracy at the last round, over its finished seeds; null where there are none."""
    std: Number | None
    """With ddof 1; null for one seed."""
    n: int
    """Seeds behind the mean."""
    starred_by: str
    """Who starred it."""
    created: datetime
    """Since when."""


def pin_answer(pin: Pin) -> dict[str, Any]:
    return {"study": pin.study_id, "name": pin.study.name, "for_all": pin.for_all, "created": pin.created}


def baseline_answer(row: BaselineRow) -> dict[str, Any]:
    baseline, statistics = row.baseline, row.statistics
    return {
        "id": baseline.pk,
        "study": baseline.study_id,
        "cell": baseline.cell,
        "label": row.label,
        "mean": statistics.mean if statistics else None,
        "std": statistics.std if statistics else None,
        "n": statistics.n if statistics else 0,
        "starred_by": baseline.starred_by.username,
        "created": baseline.created,
    }
