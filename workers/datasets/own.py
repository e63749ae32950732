"""A lab's own tables and pictures, imported from its disk without code (`workers.data_import`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from workers.catalog.component import Arrays, DatasetFacts, DatasetParameters
from workers.data_import.options import ImportOptions
from workers.datasets import _cache
from workers.datasets._fetch import Report
from workers.datasets._imported import ImportedDataset, check_arrays, no_report, readable_errors, rising_report
from workers.datasets._originals import Originals
from workers.errors import DatasetError, Problem

if TYPE_CHECKING:
    from workers.data_import.plan import Plan, Preview
    from workers.spec import RunSpec

PREFIX = "own-"


class OwnParameters(DatasetParameters):
    set: str = Field("own", pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)
    """Which one: the name under which it was imported."""


class Own(ImportedDataset):
    """A lab's own CSV, Parquet or Arrow table, folder of pictures, or Hugging Face folder.

    Numbers are standardised by the training part, words one-hot encoded, pictures kept as bytes; a column may name the
    natural client of each row. What was done is in the manifest. Without a test set, clients hold a part out.
    """

    name = "own"
    label = "Own tables and pictures"
    named_by: ClassVar[tuple[str, ...]] = ("set",)
    licence: ClassVar[str] = "the lab's own"
    Params = OwnParameters
    no_fetch: ClassVar[str] = "Nobody but this lab has its own data."
    # Before one is imported nothing is known, and `problems` says so.
    published: ClassVar[DatasetFacts] = DatasetFacts((1,), 2, 2**31, 0)

    def editions(self) -> list[Any]:
        names = sorted(path.name.removeprefix(PREFIX) for path in _cache.folder_of("").glob(f"{PREFIX}*"))
        return [self.Params(set=name) for name in names if _cache.manifest_of(f"{PREFIX}{name}")]

    def cache_name(self, params: Any) -> str:
        return f"{PREFIX}{params.set}"

    def facts(self, params: Any) -> DatasetFacts:
        facts = super().facts(params)
        if not (manifest := _cache.manifest_of(self.cache_name(params))):
            return facts
        return replace(facts, classes=len(manifest.class_names), class_names=manifest.class_names)

    def available(self, params: Any) -> str | None:
        if _cache.manifest_of(self.cache_name(params)):
            return None
        return f"No {params.set} was imported: run `manage.py datasets import own PATH --name {params.set}` first."

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        yield from super().problems(spec)
        if reason := self.available(spec.dataset):
            yield Problem("dataset.set", reason)

    def plan(self, path: Path, options: ImportOptions, report: Report, within: Sequence[Path]) -> Plan:
        from workers.data_import.picture_folder import plan_pictures
        from workers.data_import.sources import find_source
        from workers.data_import.table import plan_table

        source = find_source(path, within)
        return (plan_table if source.tables else plan_pictures)(source, options, within, report)

    def preview(
        self, path: str, options: ImportOptions, report: Report = no_report, *, within: Sequence[Path] = ()
    ) -> Preview:
        """What an import would store; everything is read, nothing is written."""
        with readable_errors(path):
            return self.plan(Path(path).expanduser(), options, report, within).preview

    def import_from(
        self,
        source: Path,
        report: Report = no_report,
        *,
        within: Sequence[Path] = (),
        replace: bool = True,
        options: ImportOptions | None = None,
    ) -> dict[str, _cache.Manifest]:
        options, rising = options or ImportOptions(), rising_report(report)
        plan = self.plan(source, options, rising, within)
        if plan.preview.problems:
            raise DatasetError("\n".join(plan.preview.problems))
        name = f"{PREFIX}{plan.preview.name}"
        if not replace and _cache.manifest_of(name):
            raise DatasetError(f"{plan.preview.name} is here already: give another name, or have an admin replace it.")
        arrays, features = plan.make(rising)
        check_arrays(self.label, arrays, len(plan.class_names))
        rising(1.0, f"writing {name}")
        asked = options.model_copy(update={"name": plan.preview.name}).model_dump(mode="json", exclude_defaults=True)
        preparation = {"kind": plan.preview.kind, "options": asked, "features": features}
        manifest = _cache.store(name, arrays, source, class_names=plan.class_names, preparation=preparation)
        report(1.0, "done")
        return {name: manifest}

    def import_path(
        self,
        path: str,
        report: Report = no_report,
        *,
        within: Sequence[Path] = (),
        replace: bool = True,
        options: ImportOptions | None = None,
    ) -> dict[str, _cache.Manifest]:
        with readable_errors(path):
            return self.import_from(Path(path).expanduser(), report, within=within, replace=replace, options=options)

    def import_again(self, manifest: _cache.Manifest) -> None:
        self.import_from(Path(manifest.source), options=ImportOptions(**manifest.preparation["options"]))

    def read(self, originals: Originals, report: Report) -> Arrays:
        """As it stands in a folder, with every option at its default."""
        return self.plan(originals.source, ImportOptions(), report, originals.within).make(report)[0]
