from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.models import Study

FORMATS = ("csv", "json", "ndjson", "parquet")
TABLES = ("metrics", "clients", "summaries", "specs", "partitions")


class Command(BaseCommand):
    help = "Writes the numbers of a study to a file, as the REST API exports them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="its number, or its name")
        parser.add_argument("path", help="the file to write; - is standard output")
        parser.add_argument("--to", choices=FORMATS, default="csv", help="the format (csv)")
        parser.add_argument("--table", choices=TABLES, default="metrics", help="what to export (metrics)")
        parser.add_argument("--metric", action="append", default=[], help="only this metric; may be given again")

    def handle(self, *_: Any, study: str, path: str, to: str, table: str, metric: list[str], **__: Any) -> None:
        from experiments.export.export import Wanted, export_parts

        found = study_named(study)
        parts = export_parts(Wanted(table, to, {"study": [str(found.pk)]}, metric))
        if path == "-":
            write(sys.stdout.buffer, parts)
            return
        size = written(Path(path), parts)
        self.stdout.write(f"Wrote the {table} of study {found.pk} to {path}: {size / 1e6:.1f} MB.")


def study_named(text: str) -> Study:
    """By number; otherwise the newest of that name."""
    known = Study.objects.filter(pk=int(text)) if text.isdecimal() and len(text) < 19 else Study.objects.none()
    found = known.first() or Study.objects.filter(name=text).order_by("-pk").first()
    if found is None:
        raise CommandError(f"There is no study {text}: give its number, as in its address, or its full name.")
    return found


def written(path: Path, parts: Iterable[bytes]) -> int:
    """The size. A file that is there is replaced only by a whole one."""
    try:
        with replaced(path) as file:
            write(file, parts)
            return file.tell()
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from None


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write(file: BinaryIO, parts: Iterable[bytes]) -> None:
    for part in parts:
        file.write(part)
