"""Between Flower's messages and the trainer: what a request asks of its clients, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from flwr.app import ArrayRecord, ConfigRecord, Error, MetricRecord, RecordDict

from workers.engine.messages.arrays import Tensors, record_of, tensors_of
from workers.engine.messages.flower import record_with
from workers.engine.messages.message_keys import (
    ARRAYS,
    METRICS,
    OBSERVED,
    SAMPLES,
    STEPS,
    TRAIN_LOSS,
    task_of,
    task_record,
)
from workers.engine.server.participation import Participation
from workers.engine.training.trainer import Assignment, Outcome
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
        participation.straggler_parts(number),
    )


def tasks_in(content: RecordDict) -> list[str]:
    return [task for name in content if (task := task_of(name)) is not None]


def assignment_of_tasks(
    contents: Mapping[int, RecordDict], number: int, participation: Participation, device: torch.device
) -> Assignment:
    """Models by task, whoever got them, as one assignment: they are alike, so all of them train together."""
    models: dict[str | None, Tensors] = {}
    for content in {id(each): each for each in contents.values()}.values():
        records = {task: content[task_record(task)] for task in tasks_in(content)}
        models |= {task: tensors_of(record, device) for task, record in records.items() if task not in models}  # type: ignore[arg-type]
    rows = [
        replace(participation.clients[client], task=task)
        for client, content in contents.items()
        for task in tasks_in(content)
    ]
    config = config_of(next(iter(contents.values())))
    return Assignment(number, rows, {}, config=config, parts=participation.straggler_parts(number), models=models)


def config_of(content: RecordDict) -> dict[str, Any]:
    records = [record for record in content.values() if isinstance(record, ConfigRecord)]
    return {name: value for record in records for name, value in record.items()}


def reply_contents(outcomes: Sequence[Outcome]) -> dict[int, RecordDict]:
    """One reply per client: rows of the stacks, not copies. What a client did for several tasks is one reply too."""
    rows: dict[int, list[tuple[Outcome, int]]] = {}
    for outcome in outcomes:
        for row, client in enumerate(outcome.clients):
            rows.setdefault(client, []).append((outcome, row))
    return {client: reply_content(own) for client, own in rows.items()}


def reply_content(rows: Sequence[tuple[Outcome, int]]) -> RecordDict:
    """The loss is the mean over the client's tasks, its steps are added up."""
    records: dict[str, ArrayRecord | MetricRecord] = {}
    metrics: dict[str, Any] = {
        SAMPLES: rows[0][0].samples[rows[0][1]],
        TRAIN_LOSS: sum(outcome.losses[row] for outcome, row in rows) / len(rows),
        STEPS: sum(outcome.steps[row] for outcome, row in rows),
    }
    counted = len(metrics)
    for outcome, row in rows:
        model = {} if outcome.reply_name is None else {outcome.reply_name: outcome.model}
        for name, tensors in {**model, **outcome.contribution.arrays}.items():
            records[task_record(outcome.tasks[row], name)] = record_of(tensors, row)
        for name, values in outcome.contribution.metrics.items():
            metrics[task_record(outcome.tasks[row], name)] = values[row]
    # What a strategy adds may be of any type: Flower says so where it is of none that a record takes.
    records[METRICS] = record_with(MetricRecord, metrics) if len(metrics) == counted else MetricRecord(metrics)
    return record_with(RecordDict, records)


def dropped_out_error() -> Error:
    return Error(UNAVAILABLE, DROPPED_OUT)
