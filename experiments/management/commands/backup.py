from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from config.up import run_alone
from django.conf import settings
from django.core.management.base import BaseCommand

from experiments.operations.backup.backup import Taken, backup


class Command(BaseCommand):
    help = "Writes the database and what runs left on disk to one file, while everything goes on."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the file to write; one that is there is not overwritten")

    def handle(self, *_: Any, file: Path, **__: Any) -> None:
        if not settings.DATABASE_URL:
            raise SystemExit(run_alone(settings.HOME, "backup", str(file)))
        for line in lines(file, backup(file.absolute())):
            self.stdout.write(line)


def lines(file: Path, taken: Taken) -> list[str]:
    tables, files = taken.manifest.tables, len(taken.manifest.files) - 1
    held = f"{tables['experiments_study'].rows} studies, {tables['experiments_run'].rows} runs"
    found = [f"Wrote {file}: {taken.bytes / 1e6:.1f} MB, {held}, {files} files."]
    if taken.models_elsewhere:
        found.append(f"{taken.models_elsewhere} final models are not in this home, and so not in the backup.")
    found.append("It holds password hashes and everybody's studies: keep it as safe as the platform itself.")
    return found
