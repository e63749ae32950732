"""Flower arrays that hold tensors: handed over as they are, serialised only if somebody asks for bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, RecordDict

from workers.engine.messages.flower import record_with
from workers.engine.messages.message_keys import OBSERVED

Tensors = dict[str, torch.Tensor]

SCALAR_BYTES = 8
NUMPY_STYPE = "numpy.ndarray"


class TensorArray(Array):
    """An `Array` around a tensor. Given `row`, around that row of a stack, without a copy."""

    def __init__(self, tensor: torch.Tensor, row: int | None = None) -> None:
        self.__dict__.update(stack=tensor, row=row)

    @property
    def tensor(self) -> torch.Tensor:
        stack: torch.Tensor = self.__dict__["stack"]
        row = self.__dict__["row"]
        return stack if row is None else stack[row]

    @property
    def dtype(self) -> str:  # type: ignore[override]
        return str(self.tensor.dtype).removeprefix("torch.")

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return tuple(self.tensor.shape)

    @property
    def stype(self) -> str:  # type: ignore[override]
        return NUMPY_STYPE

    @property
    def data(self) -> bytes:  # type: ignore[override]
        buffer = BytesIO()
        np.save(buffer, self.numpy(), allow_pickle=False)
        return buffer.getvalue()

    def deflate(self) -> bytes:
        """As Flower's own class: a receiver knows no other."""
        return Array(self.numpy()).deflate()

    def numpy(self) -> np.ndarray:
        """The tensor's own memory where it is on the CPU: for reading."""
        return self.tensor.detach().cpu().numpy()


def record_of(tensors: Mapping[str, torch.Tensor], row: int | None = None) -> ArrayRecord:
    return record_with(ArrayRecord, {name: TensorArray(tensor, row) for name, tensor in tensors.items()})


def tensors_of(record: ArrayRecord, device: torch.device | None = None) -> Tensors:
    """As they are, or on that device."""
    return {name: tensor_of(array).to(device) for name, array in record.items()}


def tensor_of(array: Array) -> torch.Tensor:
    return array.tensor if isinstance(array, TensorArray) else torch.from_numpy(np.array(array.numpy()))


def cast_like(model: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Means of whole numbers, such as counts of batches, become whole numbers again."""
    whole = not model.dtype.is_floating_point and value.dtype.is_floating_point
    return (value.round() if whole else value).to(model.dtype)


def bytes_of(content: RecordDict) -> int:
    """What really would be sent: every array's values and eight bytes a scalar. An observed model is never sent."""
    if OBSERVED in content:
        return 0
    total = 0
    for record in content.values():
        if isinstance(record, ArrayRecord):
            total += sum(map(array_bytes, record.values()))
        else:
            total += sum(map(scalar_bytes, record.values()))
    return total


def array_bytes(array: Array) -> int:
    if isinstance(array, TensorArray):
        stack, row = array.__dict__["stack"], array.__dict__["row"]
        size: int = stack.nbytes if row is None else stack.nbytes // len(stack)
        return size
    return int(np.prod(array.shape, dtype=np.int64)) * np.dtype(array.dtype).itemsize


def scalar_bytes(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return SCALAR_BYTES * (len(value) if isinstance(value, list) else 1)


def weighted_mean(records: Sequence[ArrayRecord], weights: Sequence[float], names: Sequence[str]) -> Tensors:
    """Sum of w_i * array_i over the records. Rows of one stack become one matrix product, others a loop."""
    return {name: weighted_sum([record[name] for record in records], weights) for name in names}


def weighted_sum(arrays: Sequence[Array], weights: Sequence[float]) -> torch.Tensor:
    stacks = group_by_stack(arrays, weights)
    total = torch.zeros_like(stacks[0][0][0])
    for stack, factors in stacks:
        if len(stack) == 1:
            total.add_(stack[0], alpha=float(factors[0]))
        else:
            total += torch.tensordot(factors, stack, dims=1)
    return total


def group_by_stack(arrays: Sequence[Array], weights: Sequence[float]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Each stack with a weight per row; a row that nobody sent weighs nothing but must not spread its NaN."""
    stacks: dict[int, tuple[torch.Tensor, list[int], list[float]]] = {}
    for array, weight in zip(arrays, weights, strict=True):
        if isinstance(array, TensorArray) and array.__dict__["row"] is not None:
            stack, row = array.__dict__["stack"], array.__dict__["row"]
        else:
            stack, row = tensor_of(array)[None], 0
        _, rows, factors = stacks.setdefault(id(stack), (stack, [], []))
        rows.append(row)
        factors.append(weight)
    return [rows_and_weights(*group) for group in stacks.values()]


def rows_and_weights(stack: torch.Tensor, rows: list[int], factors: list[float]) -> tuple[torch.Tensor, torch.Tensor]:
    values = stack if rows == list(range(len(stack))) else stack[rows]
    return values, torch.tensor(factors, dtype=stack.dtype, device=stack.device)
