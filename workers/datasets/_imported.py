"""What data sets that come from a publisher's files have in common: import once, load memory-mapped from then on."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from workers.catalog.component import Arrays, Dataset, DatasetFacts
from workers.datasets import _cache
from workers.datasets._fetch import Original, Report, fetch_originals
from workers.datasets._originals import Originals
from workers.errors import DatasetError

FETCHING = 0.8
"""The share of a fetch that its download is taken to be."""


@contextmanager
def readable_errors(path: str) -> Iterator[None]:
    """What the file system refuses is told in words."""
    try:
        yield
    except OSError as error:
        raise DatasetError(f"{error.filename or path} cannot be read: {error.strerror or error}.") from None


def no_report(done: float, what: str) -> None:
    """A progress report that nobody reads."""


def rising_report(report: Report) -> Report:
    """Never back, whatever a data set's parts say of themselves; the last tenth is for writing."""
    highest = 0.0

    def report_highest(share: float, text: str) -> None:
        nonlocal highest
        highest = max(highest, share * 0.9)
        report(highest, text)

    return report_highest


class ImportedDataset(Dataset):
    """`published` are the facts of the whole set; what was imported (perhaps a part) has the say once it is there."""

    published: ClassVar[DatasetFacts]
    originals: ClassVar[tuple[Original, ...]] = ()
    no_fetch: ClassVar[str] = ""
    """Why nothing can be fetched, where the publisher hands out no files."""

    @abstractmethod
    def read(self, originals: Originals, report: Report) -> Arrays:
        """Parse the publisher's files; `report` gets the done share of 1 and what is being read."""

    def cache_name(self, params: Any) -> str:
        return self.name

    def facts(self, params: Any) -> DatasetFacts:
        if not (manifest := _cache.manifest_of(self.cache_name(params))):
            return self.published
        return replace(
            self.published,
            shape=manifest.shape,
            train=manifest.train,
            test=manifest.test,
            natural_clients=manifest.natural_clients,
        )

    def checksum(self, params: Any) -> str:
        manifest = _cache.manifest_of(self.cache_name(params))
        return manifest.checksum if manifest else "not here yet"

    def available(self, params: Any) -> str | None:
        if _cache.manifest_of(self.cache_name(params)):
            return None
        return f"{self.label} is not here yet: run `manage.py datasets import {self.name} PATH` (or fetch) first."

    def loads_at_once(self, params: Any) -> bool:
        return _cache.manifest_of(self.cache_name(params)) is not None

    def load(self, params: Any) -> Arrays:
        name = self.cache_name(params)
        if not (manifest := _cache.manifest_of(name)):
            raise DatasetError(str(self.available(params)))
        try:
            return _cache.load(name, manifest)
        except _cache.CacheDamageError as damage:
            return self.rebuild(name, manifest, damage)

    def rebuild(self, name: str, manifest: _cache.Manifest, damage: _cache.CacheDamageError) -> Arrays:
        """From the originals, where they still are and still give the same data."""
        try:
            self.import_again(manifest)
        except DatasetError as error:
            again = f"import it again with `manage.py datasets import {self.name} PATH`"
            raise DatasetError(
                f"The cache is damaged ({damage.detail}) and not rebuilt: {error.detail} ({again})"
            ) from None
        new_manifest = _cache.manifest_of(name)
        if not new_manifest or new_manifest.checksum != manifest.checksum:
            raise DatasetError(
                f"The originals of {self.label} in {manifest.source} have changed: launch the run again."
            )
        return _cache.load(name, new_manifest)

    def import_again(self, manifest: _cache.Manifest) -> None:
        """As it was imported before."""
        self.import_from(Path(manifest.source))

    def import_from(
        self, source: Path, report: Report = no_report, *, within: Sequence[Path] = (), replace: bool = True
    ) -> dict[str, _cache.Manifest]:
        """Parse the originals and put them into the cache; by name in the cache.

        In the place of what was there, unless nothing may be replaced; no link leads out of the folders in `within`.
        """
        manifests: dict[str, _cache.Manifest] = {}
        rising = rising_report(report)
        with Originals(source, within) as originals:
            for name, arrays in self.parts(originals, rising):
                if not replace and _cache.manifest_of(name):
                    raise DatasetError(f"{name} is here already, and stays as it is: an admin may replace it.")
                check_arrays(self.label, arrays, self.published.classes)
                rising(1.0, f"writing {name}")
                manifests[name] = _cache.store(name, arrays, source)
        report(1.0, "done")
        return manifests

    def import_path(
        self, path: str, report: Report = no_report, *, within: Sequence[Path] = (), replace: bool = True
    ) -> dict[str, _cache.Manifest]:
        """From where a person says."""
        with readable_errors(path):
            return self.import_from(Path(path).expanduser(), report, within=within, replace=replace)

    def manifests(self) -> dict[str, _cache.Manifest]:
        """What is in the cache, of each edition, by name there."""
        names = [self.cache_name(params) for params in self.editions()]
        return {name: manifest for name in names if (manifest := _cache.manifest_of(name))}

    def verify(self) -> list[str]:
        """Hashes every file of every edition that is here; what is wrong, in words."""
        if not (manifests := self.manifests()):
            return [str(self.available(self.Params()))]
        return [problem for name, manifest in manifests.items() for problem in _cache.verify(name, manifest)]

    def fetch(self, report: Report = no_report, *, replace: bool = True) -> dict[str, _cache.Manifest]:
        """The publisher's files, then the importer. What came of a fetch that broke off is used by the next one."""
        if not self.originals:
            raise DatasetError(f"{self.no_fetch} Import it: manage.py datasets import {self.name} PATH")
        folder = fetch_originals(self.name, self.originals, lambda share, text: report(share * FETCHING, text))
        return self.import_from(
            folder, lambda share, text: report(FETCHING + share * (1 - FETCHING), text), replace=replace
        )

    def parts(self, originals: Originals, report: Report) -> Iterator[tuple[str, Arrays]]:
        """What goes into the cache, by name: one entry, unless the originals make several."""
        yield self.name, self.read(originals, report)


def check_arrays(label: str, arrays: Arrays, classes: int) -> None:
    """As many labels as samples, and no label out of range: a mixed-up folder is refused, not trained on."""
    for part, x, y in (("training", arrays.train_x, arrays.train_y), ("test", arrays.test_x, arrays.test_y)):
        if len(x) != len(y):
            raise DatasetError(f"{label}: {len(x)} {part} samples, but {len(y)} labels.")
        if len(y) and not (int(np.min(y)) >= 0 and int(np.max(y)) < classes):
            raise DatasetError(
                f"{label}: {part} labels from {np.min(y)} to {np.max(y)}, but there are {classes} classes."
            )
    if not len(arrays.train_y):
        raise DatasetError(f"{label}: no training samples.")
