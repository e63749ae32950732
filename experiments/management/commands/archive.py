from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from experiments.management.commands.export import find_study, write_file


class Command(BaseCommand):
    help = "Writes a study into one file, with everything that belongs to it: specs, curves, models, notes, checksums."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", help="its number, or its name")
        parser.add_argument("file", type=Path, help="to write, as in study.tributary.zip")

    def handle(self, *_: Any, study: str, file: Path, **__: Any) -> None:
        from experiments.study_archives.selectors import study_archive_parts

        stored_study = find_study(study)
        size = write_file(file, study_archive_parts(stored_study))
        self.stdout.write(f"Wrote study {stored_study.pk} to {file}: {size / 1e6:.1f} MB.")
