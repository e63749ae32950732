from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
import pytest
import torch

from workers.engine.training.schedule import Schedule, samples_seen
from workers.streams import client_keys

LABELS = torch.arange(20_000) % 7


def schedule(sizes: list[int], *, first: int = 0, **changes: Any) -> Schedule:
    """Clients `first`, `first` + 1, ... with samples 1000 * client + 0, 1, 2, ..."""
    clients = np.arange(first, first + len(sizes))
    options: dict[str, Any] = {"epochs": 1, "batch_size": 4, "padded": True, "parts": [None] * len(sizes), **changes}
    samples = [1000 * client + np.arange(size) for client, size in zip(clients, sizes, strict=True)]
    keys = client_keys(0, "batches", clients, 1)
    return Schedule(samples, keys, LABELS, dtype=torch.float64, **options)


def batches_by_client(plan: Schedule) -> dict[int, list[list[int]]]:
    """The real samples of each client's batches, by original position of the client."""
    batches: dict[int, list[list[int]]] = {}
    for batch in plan.batches():
        rows = range(len(plan.sizes))[batch.rows] if isinstance(batch.rows, slice) else batch.rows.tolist()
        for at, row in enumerate(rows):
            assert batch.labels[at].tolist() == [sample % 7 for sample in batch.index[at].tolist()]
            real = batch.index[at, : int(batch.counts[at])].tolist()
            batches.setdefault(int(plan.by_steps[row]), []).append(real)
    return batches


@pytest.mark.parametrize("padded", [True, False])
def test_every_epoch_sees_every_sample_once_in_a_new_order(padded: bool) -> None:
    batches = batches_by_client(schedule([10, 3, 8], epochs=2, padded=padded))

    assert [len(each) for each in batches[0]] == [4, 4, 2, 4, 4, 2]
    epochs = [list(chain(*batches[0][:3])), list(chain(*batches[0][3:]))]
    assert [sorted(epoch) for epoch in epochs] == [list(range(10))] * 2
    assert epochs[0] != epochs[1]
    assert Counter(chain(*batches[1])) == Counter([1000, 1001, 1002] * 2)


def test_a_clients_batches_do_not_depend_on_who_else_is_in_the_stack() -> None:
    together, alone = (
        batches_by_client(schedule([10, 3, 8], epochs=2)),
        batches_by_client(schedule([3], first=1, epochs=2)),
    )

    assert together[1] == alone[0]


def test_clients_that_have_finished_leave_the_stack() -> None:
    active = [(batch.step, batch.rows) for batch in schedule([4, 12, 8]).batches()]

    assert active == [(0, slice(0, 3)), (1, slice(0, 2)), (2, slice(0, 1))]


def test_padding_weighs_nothing_and_real_samples_make_a_mean() -> None:
    (batch,) = schedule([4, 2], batch_size=4).batches()

    assert batch.weights is not None
    assert batch.weights.tolist() == [[0.25] * 4, [0.5, 0.5, 0.0, 0.0]]


def test_without_padding_batches_of_different_size_are_apart() -> None:
    batches = list(schedule([6, 7, 6], padded=False).batches())

    assert [(batch.step, batch.index.shape) for batch in batches] == [(0, (3, 4)), (1, (1, 3)), (1, (2, 2))]
    assert all(batch.weights is None for batch in batches)


def test_without_padding_a_last_batch_of_one_joins_the_one_before() -> None:
    batches = batches_by_client(schedule([9, 5, 1], padded=False))

    assert [len(each) for each in batches[0]] == [4, 5]
    assert [len(each) for each in batches[1]] == [5]
    assert 2 not in batches


def test_a_straggler_takes_a_part_of_its_steps_but_at_least_one() -> None:
    plan = schedule([40, 40, 40], epochs=2, parts=[None, 0.0, 0.5])

    assert plan.steps.tolist() == [20, 1, 10]


def test_a_batch_larger_than_the_clients_data_is_all_of_it() -> None:
    assert [sorted(each) for each in batches_by_client(schedule([3], batch_size=100))[0]] == [[0, 1, 2]]


def test_a_long_schedule_made_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = batches_by_client(schedule([40, 17], epochs=3))
    monkeypatch.setattr("workers.engine.training.schedule.BLOCK", 16)

    assert batches_by_client(schedule([40, 17], epochs=3)) == whole


@pytest.mark.parametrize(
    ("size", "steps", "padded", "expected"),
    [
        (25, 6, True, 50),  # two epochs of 10, 10 and 5
        (25, 4, True, 35),  # one epoch, then one batch of 10
        (21, 4, True, 31),  # 10, 10 and 1, then 10
        (21, 4, False, 42),  # the last one joins the batch before it: 10 and 11, twice
        (1, 0, False, 0),  # a single sample has no batch statistics
        (7, 3, True, 21),
    ],
)
def test_the_samples_a_client_went_through_follow_from_its_steps(
    size: int, steps: int, padded: bool, expected: int
) -> None:
    assert samples_seen(size, steps, 10, padded=padded) == expected
