"""What the engine hands out: a record per round and a result at the end. No torch in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class RoundRecord:
    """One round. Round 0 is the evaluation before training: no `train_loss`, zero bytes.

    `cohort` are the client indices that took part; the shared client of hybrid sharing has index -1.
    `clients` has per-client numbers by client index (samples, steps, train_loss, accuracy, ...).
    """

    round: int
    metrics: Mapping[str, float]
    cohort: tuple[int, ...] = ()
    clients: Mapping[int, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """A finished run: every record, the final parameters by name, and where the numbers came from.

    Where `on_round` got the records, only the last ones, of 20,000 clients together, have `clients`.

    `parameters` is the model that was evaluated last; where there are several, they are named `<owner>/<parameter>`, as
    docs/export.md lists them.

    `findings` is what it found beyond its curves, as plain values: `confusion` of the last evaluation (a row for each
    true class), and under the strategy's name whatever its server side tells in a property `findings`.
    """

    history: tuple[RoundRecord, ...]
    parameters: Mapping[str, np.ndarray]
    provenance: Mapping[str, Any]
    findings: Mapping[str, Any] = field(default_factory=dict)
