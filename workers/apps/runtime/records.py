"""Flower's records: copied as a network would copy them, written as bytes, compared by digest, counted and read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from flwr.app import Array, ArrayRecord, RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.proto.recorddict_pb2 import RecordDict as RecordDictProto

LEGACY_METRICS = ("fitres.metrics", "evaluateres.metrics")


def copy_records(records: RecordDict) -> RecordDict:
    """What one side changes in its records afterwards, the other must not see. Arrays are never changed in place."""
    copies: dict[str, Any] = {}
    for name, record in records.items():
        kind: Any = type(record)
        copies[name] = kind(dict(record.items()))
    return RecordDict(copies)


def to_bytes(records: RecordDict) -> bytes:
    data: bytes = recorddict_to_proto(records).SerializeToString()
    return data


def from_bytes(data: bytes) -> RecordDict:
    return recorddict_from_proto(RecordDictProto.FromString(data))


def digest(records: RecordDict) -> str:
    """Equal for equal content, whatever process made it."""
    result = hashlib.sha256()
    for name, record in records.items():
        result.update(f"{type(record).__name__}\0{name}\0{len(record)}\0".encode())
        for key, value in record.items():
            result.update(f"{key}\0".encode())
            if isinstance(value, Array):
                result.update(f"{value.dtype}\0{value.shape}\0{value.stype}\0".encode())
                result.update(value.data)
            else:
                result.update(f"{type(value).__name__}\0{value!r}\0".encode())
    return result.hexdigest()


def count_bytes(records: RecordDict) -> int:
    """As Flower counts them: values, keys and Flower's own framing of arrays, without the network's."""
    return sum(record.count_bytes() for record in records.values())


def metrics_in(records: RecordDict) -> dict[str, float]:
    """Of a client's reply; a legacy client's own metrics travel as config."""
    metrics: dict[str, float] = {}
    for record in records.metric_records.values():
        metrics |= flat_metrics(record)
    for name in LEGACY_METRICS:
        if name in records.config_records:
            metrics |= flat_metrics(records.config_records[name])
    return metrics


def flat_metrics(values: Mapping[str, Any]) -> dict[str, float]:
    """Numbers only; a list becomes name.0, name.1, ..."""
    return dict(numbers_in(values))


def numbers_in(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        if isinstance(value, list | tuple):
            yield from numbers_in({f"{name}.{place}": each for place, each in enumerate(value)})
        elif isinstance(value, int | float) or hasattr(value, "__float__"):
            yield name, float(value)


def named_arrays(record: ArrayRecord) -> dict[str, Any]:
    return {name: array.numpy() for name, array in record.items()}
