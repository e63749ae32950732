from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from workers.catalog.component import Arrays, DatasetFacts, DatasetParameters
from workers.datasets import _cache
from workers.datasets._imported import ImportedDataset, Report
from workers.datasets._npz import own_arrays
from workers.datasets._originals import Originals
from workers.errors import DatasetError, Problem

if TYPE_CHECKING:
    from workers.spec import RunSpec

NAME = r"^[a-z0-9][a-z0-9_-]*$"
MOST_CLASSES = 100_000


class NpzParameters(DatasetParameters):
    file: str = Field("own", pattern=NAME, max_length=60)
    """Which one: the name of the imported file, without .npz."""


class Npz(ImportedDataset):
    """A lab's own data: one .npz file with `x` and `y`, optionally `client`, `x_test` and `y_test`.

    `x` holds pictures as bytes (n, channels, height, width; one channel or channels last are recognised) or features as
    numbers; `y` classes from 0; `client` each sample's natural client. Without a test set, clients hold a part out.
    """

    name = "npz"
    label = "Own data (.npz)"
    licence: ClassVar[str] = "the lab's own"
    Params = NpzParameters
    no_fetch: ClassVar[str] = "Nobody but this lab has its own data."
    # What a file may hold at most; before one is imported nothing is known, and `problems` says so.
    published: ClassVar[DatasetFacts] = DatasetFacts((1,), MOST_CLASSES, 2**31, 0)

    def editions(self) -> list[Any]:
        names = sorted(path.name.removeprefix("npz-") for path in _cache.folder_of("").glob("npz-*"))
        return [self.Params(file=name) for name in names if _cache.manifest_of(f"npz-{name}")]

    def cache_name(self, params: Any) -> str:
        return f"npz-{params.file}"

    def facts(self, params: Any) -> DatasetFacts:
        known = _cache.manifest_of(self.cache_name(params))
        facts = super().facts(params)
        return replace(facts, classes=max(2, known.classes)) if known else replace(facts, classes=2)

    def available(self, params: Any) -> str | None:
        if _cache.manifest_of(self.cache_name(params)):
            return None
        return f"No {params.file}.npz was imported: run `manage.py datasets import npz PATH/{params.file}.npz` first."

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from super().problems(spec)
        if reason := self.available(spec.dataset):
            yield Problem("dataset.file", reason)

    def parts(self, originals: Originals, report: Report) -> Iterator[tuple[str, Arrays]]:
        """Every .npz file that was given, under its own name."""
        if not (found := originals.find("*.npz")):
            raise DatasetError(f"No .npz file in {originals.source}.")
        for done, path in enumerate(found):
            report(done / len(found), path)
            yield f"npz-{valid_name(Path(path).stem)}", own_arrays(originals.read(path), path)

    def read(self, originals: Originals, report: Report) -> Arrays:
        return next(arrays for _, arrays in self.parts(originals, report))


def valid_name(stem: str) -> str:
    name = re.sub(r"[ .]+", "-", stem.lower())
    if not re.match(NAME, name):
        raise DatasetError(f"{stem}.npz: name it with small letters, digits, - and _ only.")
    return name
