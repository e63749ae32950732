"""Cutting by shares and grouping by owner: what several partitions have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from workers.errors import Problem

if TYPE_CHECKING:
    from workers.catalog.component import PartitionInput
    from workers.spec import RunSpec


def counts_by_share(shares: np.ndarray, total: int) -> np.ndarray:
    """How many of `total` each share gets when an ordered list is cut at the cumulative shares."""
    edges = np.floor(np.cumsum(shares) * total + 1e-9).astype(np.int64)
    edges[-1] = total
    return np.diff(np.minimum(edges, total), prepend=0)


class Parts(Sequence[np.ndarray]):
    """The indices of each client as one array and the places where it is cut: a client costs one number."""

    def __init__(self, samples: np.ndarray, bounds: np.ndarray) -> None:
        """Client i has samples[bounds[i]:bounds[i + 1]]; all of `samples` belongs to somebody."""
        self.samples, self.bounds = samples, bounds

    @classmethod
    def cut(cls, samples: np.ndarray, counts: np.ndarray) -> Parts:
        """The first so many for the first client, and so on."""
        return cls(samples, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))

    @classmethod
    def of(cls, parts: Sequence[np.ndarray]) -> Parts:
        if isinstance(parts, Parts):
            return parts
        arrays = [np.asarray(part, dtype=np.int64) for part in parts]
        return cls.cut(np.concatenate(arrays) if arrays else np.empty(0, np.int64), np.array([*map(len, arrays)], int))

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.bounds)

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @overload
    def __getitem__(self, at: int) -> np.ndarray: ...

    @overload
    def __getitem__(self, at: slice) -> list[np.ndarray]: ...

    def __getitem__(self, at: int | slice) -> np.ndarray | list[np.ndarray]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        row = range(len(self))[at]
        part: np.ndarray = self.samples[self.bounds[row] : self.bounds[row + 1]]
        return part

    def first(self, count: int) -> Parts:
        bounds = self.bounds[: count + 1]
        return Parts(self.samples[: bounds[-1]], bounds)


def indices_by_client(owner: np.ndarray, clients: int) -> Parts:
    """The indices of each client, ascending, where `owner` names the client of each index."""
    return Parts.cut(np.argsort(owner, kind="stable"), np.bincount(owner, minlength=clients))


def split_faults(parts: Sequence[np.ndarray], data: PartitionInput, *, leaves_out: bool = False) -> list[str]:
    """In which ways clients' indices are no partition of the samples; `leaves_out`: not all of them need an owner."""
    samples = len(data.labels)
    arrays = [parts.samples] if isinstance(parts, Parts) else [np.asarray(part) for part in parts]
    if wrong := [str(part.dtype) for part in arrays if len(part) and part.dtype.kind not in "iu"]:
        return [f"its indices are no whole numbers ({wrong[0]})"]
    cut = Parts.of(parts)
    indices = cut.samples
    inside = indices[(indices >= 0) & (indices < samples)]
    owners = np.bincount(inside, minlength=samples)
    outside, lost, doubled = len(indices) - len(inside), int((owners == 0).sum()), int((owners > 1).sum())
    empty = [str(client) for client in np.flatnonzero(cut.sizes == 0).tolist()]
    shown = ", ".join([*empty[:10], *(["..."] if len(empty) > 10 else [])])
    faults = {
        f"it makes {len(parts)} clients in place of {data.clients}": len(parts) != data.clients,
        f"{outside} indices lie outside of the {samples} samples": outside,
        f"{lost} of {samples} samples go to no client": lost and not leaves_out,
        f"{doubled} samples go to more than one client": doubled,
        f"{len(empty)} clients get nothing ({shown})": empty,
    }
    return [fault for fault, applies in faults.items() if applies]


def min_size_problems(spec: RunSpec) -> Iterable[Problem]:
    """A minimum size that no partition of the training set could reach."""
    least, clients, samples = getattr(spec.partition, "min_size", 0), spec.client_count, spec.dataset_facts.train
    if least * clients > samples:
        yield Problem("partition.min_size", f"{clients} clients of {least} are more than the {samples} samples.")


def equal_counts(total: int, parts: int) -> np.ndarray:
    """Sizes that differ by at most one, the larger ones first."""
    least, more = divmod(total, parts)
    return np.full(parts, least, dtype=np.int64) + (np.arange(parts) < more)
