from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.models import Study

FORMATS = ("csv", "json", "ndjson", "parquet")
TABLES = ("metrics", "clients", "summaries", "specs", "partitions", "notes")


class Command(BaseCommand):
    help = "Writes the numbers of a study to a file, as the REST API exports them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="its number, or its name")
        parser.add_argument("path", help="the file to write; - is standard output")
        parser.add_argument("--to", choices=FORMATS, default="csv", help="the format (csv)")
        parser.add_argument("--table", choices=TABLES, default="metrics", help="what to export (metrics)")
        parser.add_argument("--metric", action="append", default=[], help="only this metric; may be given again")

    def handle(self, *_: Any, study: str, path: str, to: str, table: str, metric: list[str], **__: Any) -> None:
        from experiments.export.exporter import ExportRequest, export_parts

        stored_study = find_study(study)
        parts = export_parts(ExportRequest(table, to, {"study": [str(stored_study.pk)]}, metric))
        if path == "-":
            write_parts(sys.stdout.buffer, parts)
            return
        size = write_file(Path(path), parts)
        self.stdout.write(f"Wrote the {table} of study {stored_study.pk} to {path}: {size / 1e6:.1f} MB.")


def find_study(text: str) -> Study:
    """By number; otherwise the newest of that name."""
    by_number = Study.objects.filter(pk=int(text)) if text.isdecimal() and len(text) < 19 else Study.objects.none()
    study = by_number.first() or Study.objects.filter(name=text).order_by("-pk").first()
    if study is None:
        raise CommandError(f"There is no study {text}: give its number, as in its address, or its full name.")
    return study


def write_file(path: Path, parts: Iterable[bytes]) -> int:
    """The size. A file that is there is replaced only by a whole one."""
    try:
        with replace_file(path) as file:
            write_parts(file, parts)
            return file.tell()
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from None


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    part = path.with_name(f"{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_parts(file: BinaryIO, parts: Iterable[bytes]) -> None:
    for part in parts:
        file.write(part)
