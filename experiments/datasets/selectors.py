"""Data sets for pages, REST and the command line: what is here, how large it is, and what a grid would miss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from experiments.client_data.selectors import dataset_overview
from experiments.housekeeping.models import ACTIVE_STATES, DATASET_KINDS
from experiments.models import Job, JobState
from workers.catalog import load_catalog
from workers.catalog.component import Dataset, DatasetFacts
from workers.client_data.overviews import DatasetOverview, overview_key
from workers.datasets import _cache
from workers.datasets._imported import ImportedDataset
from workers.errors import Problem
from workers.spec import Grid, RunSpec


@dataclass(frozen=True)
class Edition:
    """One set that is kept apart: FEMNIST comes with 62 classes and with digits only, own data as many files."""

    dataset: Dataset
    params: Any
    facts: DatasetFacts
    missing: str | None
    """What to do where it cannot be loaded now."""
    bytes: int | None
    checksum: str

    @property
    def title(self) -> str:
        extra = self.params.model_dump(exclude={"name", "normalise"}, exclude_defaults=True)
        return " ".join([self.dataset.name, *(str(value) for value in extra.values())])

    @property
    def shape(self) -> str:
        return " × ".join(str(size) for size in self.facts.shape)

    @property
    def key(self) -> str:
        return overview_key(self.dataset, self.params)

    @property
    def part(self) -> str | None:
        """How many percent of the published training samples are here, where not all are."""
        published = getattr(self.dataset, "published", None)
        if self.missing or not published or self.dataset.name in ("npz", "own", "femnist"):
            return None
        if self.facts.train >= published.train:
            return None
        percent = round(100 * self.facts.train / published.train)
        return f"{percent} %" if percent else "less than 1 %"


@dataclass(frozen=True)
class DatasetRow:
    dataset: Dataset
    editions: tuple[Edition, ...]
    jobs: tuple[Job, ...]
    """Those at work, or else the last one if it failed or has just ended."""

    @property
    def imported(self) -> bool:
        """Whether it has to be brought here at all."""
        return isinstance(self.dataset, ImportedDataset)

    @property
    def fetchable(self) -> bool:
        return isinstance(self.dataset, ImportedDataset) and bool(self.dataset.originals)

    @property
    def ready(self) -> bool:
        return any(not edition.missing for edition in self.editions)

    @property
    def busy(self) -> bool:
        return any(job.active for job in self.jobs)

    @property
    def failed(self) -> Job | None:
        return next((job for job in self.jobs if job.state == JobState.FAILED), None)


def dataset_rows(*, jobs: bool = True) -> list[DatasetRow]:
    """What is here first, and what was brought before what is made. Without jobs, no database is asked."""
    jobs_by_dataset = latest_jobs() if jobs else {}
    rows = [dataset_row(each, jobs_by_dataset.get(each.name, ())) for each in load_catalog().datasets.values()]
    return sorted(rows, key=lambda row: (not row.ready, not row.imported, row.dataset.label.lower()))


def dataset_row(dataset: Dataset, jobs: Iterable[Job]) -> DatasetRow:
    return DatasetRow(dataset, tuple(dataset_edition(dataset, params) for params in dataset.editions()), tuple(jobs))


def dataset_edition(dataset: Dataset, params: Any) -> Edition:
    manifest = _cache.manifest_of(dataset.cache_name(params)) if isinstance(dataset, ImportedDataset) else None
    return Edition(
        dataset,
        params,
        dataset.facts(params),
        dataset.available(params),
        manifest.bytes if manifest else None,
        dataset.checksum(params),
    )


def latest_jobs() -> dict[str, list[Job]]:
    """By data set: those at work, or else the last one."""
    last = Job.objects.filter(kind__in=DATASET_KINDS).order_by("subject", "-id").distinct("subject").values("pk")
    candidates = Job.objects.filter(Q(state__in=ACTIVE_STATES) | Q(pk__in=last), kind__in=DATASET_KINDS)
    by_dataset: dict[str, list[Job]] = {}
    for job in candidates.select_related("person").order_by("id"):
        by_dataset.setdefault(job.subject, []).append(job)
    return {name: [job for job in jobs if job.active] or jobs[-1:] for name, jobs in by_dataset.items()}


def dataset_overviews(rows: Iterable[DatasetRow]) -> dict[str, DatasetOverview | None]:
    return {edition.key: dataset_overview(edition.dataset, edition.params) for row in rows for edition in row.editions}


def missing_data_problems(blocks: Sequence[Mapping[str, Any]], grid: Grid) -> Iterator[Problem]:
    """One problem for each block and data set that is not here; specs stay valid anywhere, launches do not."""
    datasets = load_catalog().datasets
    grid_datasets = {run.spec.dataset for run in grid.runs if isinstance(run.spec, RunSpec)}
    missing = {params.name for params in grid_datasets if datasets[params.name].available(params)}
    for index, block in enumerate(blocks):
        for name in sorted(missing & set(dataset_names(block.get("dataset")))):
            yield Problem(f"blocks.{index}.dataset", missing_data_text(name))


def missing_data_text(name: str) -> str:
    return f"{name} is not here yet: fetch or import it on the Data sets page."


def dataset_names(value: Any) -> Iterator[str]:
    """The names of a data set field, which may be one mapping, an axis of them, or have an axis of names."""
    if isinstance(value, Mapping):
        yield from dataset_names(value.get("name"))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from dataset_names(each)
    elif isinstance(value, str):
        yield value
