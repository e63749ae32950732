"""Between Flower's messages and the trainer: what a request asks of its clients, and what they answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from flwr.app import ArrayRecord, ConfigRecord, Error, MetricRecord, RecordDict

from workers.engine.arrays import Tensors, record_of, tensors_of
from workers.engine.names import ARRAYS, METRICS, OBSERVED, SAMPLES, STEPS, TRAIN_LOSS
from workers.engine.participation import Participation
from workers.engine.trainer import Assignment, Outcome
from workers.errors import TributaryError

DROPPED_OUT = "The client dropped out of the round."
RAISED, UNAVAILABLE = 2, 5
"""Flower's error codes for a client app that raised and for a node that is not there."""


def assignment_of(
    content: RecordDict, clients: Sequence[int], number: int, participation: Participation, device: torch.device
) -> Assignment:
    received = {name: tensors_of(record, device) for name, record in content.items() if isinstance(record, ArrayRecord)}
    model = ARRAYS if ARRAYS in received else OBSERVED
    if model not in received:
        raise TributaryError(f"A training message needs a model under {ARRAYS!r}; it has {', '.join(content)}.")
    return Assignment(
        number,
        [participation.clients[client] for client in clients],
        received.pop(model),
        model == ARRAYS,
        received,
        config_of(content),
        participation.parts(number),
    )


def config_of(content: RecordDict) -> dict[str, Any]:
    records = [record for record in content.values() if isinstance(record, ConfigRecord)]
    return {name: value for record in records for name, value in record.items()}


def contents_of(outcome: Outcome) -> dict[int, RecordDict]:
    """One reply per client: rows of the stacks, not copies."""
    arrays: dict[str, Tensors] = dict(outcome.contribution.arrays)
    if outcome.reply_name is not None:
        arrays = {outcome.reply_name: outcome.model, **arrays}
    replies = {}
    for row, client in enumerate(outcome.clients):
        metrics: dict[str, Any] = {
            SAMPLES: outcome.samples[row],
            TRAIN_LOSS: outcome.losses[row],
            STEPS: outcome.steps[row],
        }
        metrics.update({name: values[row] for name, values in outcome.contribution.metrics.items()})
        records = {name: record_of(tensors, row) for name, tensors in arrays.items()}
        replies[client] = RecordDict({**records, METRICS: MetricRecord(metrics)})
    return replies


def dropped_out() -> Error:
    return Error(UNAVAILABLE, DROPPED_OUT)
