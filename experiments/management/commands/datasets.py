import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from experiments.datasets.selectors import dataset_rows
from workers.catalog import load_catalog
from workers.catalog.component import Dataset
from workers.datasets._imported import ImportedDataset
from workers.errors import DatasetError

WIDTH = 30


class Command(BaseCommand):
    help = "Data sets: lists them, fetches them from their publishers, imports originals, verifies what is here."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", nargs="?", default="list", choices=["list", "fetch", "import", "verify"])
        parser.add_argument("name", nargs="?", help="a data set; verify without one looks at all")
        parser.add_argument("path", nargs="?", help="import: the folder or archive that holds the originals")

    def handle(self, *_: Any, action: str, name: str | None, path: str | None, **__: Any) -> None:
        if action == "list":
            self.list()
        elif action == "verify":
            self.verify(name)
        elif name is None:
            raise CommandError(f"Which one? manage.py datasets {action} NAME{' PATH' if action == 'import' else ''}")
        else:
            self.bring(find_imported(name), action, path)

    def list(self) -> None:
        rows = [edition for row in dataset_rows(jobs=False) for edition in row.editions]
        for edition in rows:
            size = f"{edition.bytes / 1e6:,.0f} MB" if edition.bytes else "–"
            here = "not here" if edition.missing else "ready"
            counts = f"{edition.facts.train:>9,} + {edition.facts.test:>7,}  {edition.facts.classes:>4} classes"
            self.stdout.write(f"{edition.title:<24} {here:<9} {counts}  {size:>9}")

    def bring(self, dataset: ImportedDataset, action: str, path: str | None) -> None:
        if action == "import" and path is None:
            raise CommandError(f"From where? manage.py datasets import {dataset.name} PATH")
        bar = ProgressBar()
        try:
            manifests = dataset.fetch(bar) if action == "fetch" else dataset.import_path(str(path), bar)
        finally:
            bar.close()
        for name, manifest in manifests.items():
            self.stdout.write(f"{name}: {manifest.train:,} training and {manifest.test:,} test samples are here.")

    def verify(self, name: str | None) -> None:
        datasets = (
            [find_imported(name)] if name else [each for each in load_catalog().datasets.values() if is_cached(each)]
        )
        problems = [problem for each in datasets if isinstance(each, ImportedDataset) for problem in each.verify()]
        if problems:
            raise DatasetError("\n".join([*problems, "A run rebuilds it from its originals, or import it again."]))
        self.stdout.write(f"{', '.join(each.name for each in datasets) or 'Nothing imported'}: as written.")


def is_cached(dataset: Dataset) -> bool:
    return isinstance(dataset, ImportedDataset) and bool(dataset.manifests())


def find_imported(name: str) -> ImportedDataset:
    dataset = load_catalog().datasets.get(name)
    if dataset is None:
        raise CommandError(f"No data set {name}. There are {', '.join(load_catalog().datasets)}.")
    if not isinstance(dataset, ImportedDataset):
        raise CommandError(f"{name} is made here whenever it is needed: there is nothing to bring or to verify.")
    return dataset


class ProgressBar:
    """A bar on a terminal; elsewhere a line for each tenth."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()
        self.tenth = -1

    def __call__(self, share: float, text: str) -> None:
        done = int(share * WIDTH)
        if self.live:
            line = f"[{'#' * done}{' ' * (WIDTH - done)}] {share:4.0%} {text}"
            sys.stderr.write(f"\r\x1b[K{line[:118]}")
        elif int(share * 10) > self.tenth:
            self.tenth = int(share * 10)
            sys.stderr.write(f"{share:4.0%} {text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        if self.live:
            sys.stderr.write("\r\x1b[K")
