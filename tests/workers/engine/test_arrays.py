from __future__ import annotations

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from flwr.serverapp.strategy.strategy_utils import aggregate_arrayrecords

from workers.engine.messages.arrays import TensorArray, bytes_of, record_of, tensors_of, weighted_mean
from workers.engine.messages.message_keys import ARRAYS, METRICS, OBSERVED, SAMPLES


def test_an_array_hands_over_the_row_of_a_stack_without_a_copy() -> None:
    stack = torch.arange(6.0).view(2, 3)

    array = TensorArray(stack, 1)

    assert array.numpy().tolist() == [3.0, 4.0, 5.0]
    assert np.shares_memory(array.numpy(), stack.numpy())
    assert (array.dtype, array.shape) == ("float32", (3,))


def test_an_array_serialises_as_flowers_own_when_asked() -> None:
    values = np.array([[1.5, -2.0]], dtype=np.float64)

    array, stock = TensorArray(torch.from_numpy(values)), Array(values)

    assert (array.dtype, array.shape, array.stype, array.data) == (stock.dtype, stock.shape, stock.stype, stock.data)
    assert array.object_id == stock.object_id
    assert tensors_of(ArrayRecord({"w": array}))["w"].tolist() == [[1.5, -2.0]]


def test_the_mean_over_rows_of_stacks_equals_flowers_loop() -> None:
    rng = torch.Generator().manual_seed(1)
    first = {"w": torch.randn(3, 2, 5, generator=rng), "b": torch.randn(3, generator=rng)}
    second = {"w": torch.randn(2, 2, 5, generator=rng), "b": torch.randn(2, generator=rng)}
    records = [record_of(first, 2), record_of(second, 0), record_of(first, 0), record_of(second, 1)]
    samples = [10, 20, 30, 40]

    ours = weighted_mean(records, [0.1, 0.2, 0.3, 0.4], ["w", "b"])
    contents = [
        RecordDict({ARRAYS: record, METRICS: MetricRecord({SAMPLES: n})})
        for record, n in zip(records, samples, strict=True)
    ]
    stock = aggregate_arrayrecords(contents, SAMPLES)

    for name in ("w", "b"):
        np.testing.assert_allclose(ours[name].numpy(), stock[name].numpy(), rtol=1e-6, atol=1e-7)


def test_a_row_that_nobody_sent_does_not_count_even_if_it_is_nan() -> None:
    stack = {"w": torch.tensor([[1.0], [float("nan")], [3.0]])}

    mean = weighted_mean([record_of(stack, 0), record_of(stack, 2)], [0.5, 0.5], ["w"])

    assert mean["w"].tolist() == [2.0]


def test_bytes_are_values_and_eight_a_scalar() -> None:
    stack = {"w": torch.zeros(5, 3, 2), "n": torch.zeros(5, dtype=torch.int64)}
    content = RecordDict(
        {
            ARRAYS: record_of(stack, 4),
            METRICS: MetricRecord({"a": 1, "b": [1.0, 2.0]}),
            "config": ConfigRecord({"text": "four"}),
        }
    )

    assert bytes_of(content) == 3 * 2 * 4 + 8 + 8 + 16 + 4


def test_flowers_own_arrays_cost_the_same_as_ours() -> None:
    values = np.zeros((3, 2), dtype=np.float32)

    assert bytes_of(RecordDict({ARRAYS: ArrayRecord([values])})) == 24


def test_a_model_that_is_only_observed_costs_nothing() -> None:
    assert bytes_of(RecordDict({OBSERVED: record_of({"w": torch.zeros(9)}), METRICS: MetricRecord({"a": 1})})) == 0
