import sys
from argparse import ArgumentParser, BooleanOptionalAction
from typing import Any, get_args

from django.core.management.base import BaseCommand, CommandError

from experiments.datasets.selectors import dataset_rows
from workers.catalog import load_catalog
from workers.catalog.component import Dataset
from workers.data_import.options import ImportOptions, parse_options
from workers.datasets._imported import ImportedDataset
from workers.datasets.own import Own
from workers.errors import DatasetError
from workers.store.datasets import datasets_publish

WIDTH = 30


class Command(BaseCommand):
    help = "Data sets: lists them, fetches them from their publishers, imports originals, verifies what is here."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", nargs="?", default="list", choices=["list", "fetch", "import", "verify"])
        parser.add_argument("name", nargs="?", help="a data set; verify without one looks at all")
        parser.add_argument("path", nargs="?", help="import: the folder or archive that holds the originals")
        parser.add_argument("--dry-run", action="store_true", help="import own: says what would be stored")
        add_import_options(parser.add_argument_group("import own", "tables, folders of pictures, Hugging Face folders"))

    def handle(self, *_: Any, action: str, name: str | None, path: str | None, dry_run: bool, **options: Any) -> None:
        if action == "list":
            self.list()
        elif action == "verify":
            self.verify(name)
        elif name is None:
            raise CommandError(f"Which one? manage.py datasets {action} NAME{' PATH' if action == 'import' else ''}")
        else:
            self.bring(find_imported(name), action, path, given_options(options), dry_run=dry_run)

    def list(self) -> None:
        rows = [edition for row in dataset_rows(jobs=False) for edition in row.editions]
        for edition in rows:
            size = f"{edition.bytes / 1e6:,.0f} MB" if edition.bytes else "–"
            here = "not here" if edition.missing else "ready"
            counts = f"{edition.facts.train:>9,} + {edition.facts.test:>7,}  {edition.facts.classes:>4} classes"
            self.stdout.write(f"{edition.title:<24} {here:<9} {counts}  {size:>9}")

    def bring(
        self, dataset: ImportedDataset, action: str, path: str | None, options: dict[str, Any], *, dry_run: bool
    ) -> None:
        if action == "import" and path is None:
            raise CommandError(f"From where? manage.py datasets import {dataset.name} PATH")
        if (options or dry_run) and not (isinstance(dataset, Own) and action == "import"):
            raise CommandError(f"Options are for `datasets import own PATH`: {dataset.name} is read as published.")
        bar = ProgressBar()
        try:
            if action == "fetch":
                manifests = dataset.fetch(bar)
            elif isinstance(dataset, Own) and dry_run:
                lines = list(dataset.preview(str(path), parse_options(options), bar).lines())
                manifests = {}
            elif isinstance(dataset, Own):
                manifests = dataset.import_path(str(path), bar, options=parse_options(options))
            else:
                manifests = dataset.import_path(str(path), bar)
        finally:
            bar.close()
        if dry_run:
            self.stdout.write("\n".join(lines))
        datasets_publish(manifests)
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


def add_import_options(parser: Any) -> None:
    """One for each field of `ImportOptions`; what is not given is left to its default."""
    for name, field in ImportOptions.model_fields.items():
        flag, words = f"--{name.replace('_', '-')}", (field.description or "").partition(". ")[0].rstrip(".")
        if isinstance(field.default, bool):
            parser.add_argument(flag, dest=f"option_{name}", action=BooleanOptionalAction, default=None, help=words)
        elif isinstance(field.default, tuple):
            parser.add_argument(
                flag, dest=f"option_{name}", action="append", metavar="COLUMN", help=f"{words}; repeat it"
            )
        else:
            choices = [each for each in get_args(field.annotation) if isinstance(each, str)] or None
            parser.add_argument(
                flag, dest=f"option_{name}", choices=choices, metavar=None if choices else "VALUE", help=words
            )


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    prefix = "option_"
    return {
        key.removeprefix(prefix): value
        for key, value in options.items()
        if key.startswith(prefix) and value is not None
    }


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
