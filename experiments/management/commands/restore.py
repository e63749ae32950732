from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from config.up import run_with_postgres
from django.conf import settings
from django.core.management.base import BaseCommand

from experiments.operations.backup.restore import RestoreReport, restore_backup


class Command(BaseCommand):
    help = "Brings a backup back into an empty home, and compares every table and file with what was backed up."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="what `manage.py backup` wrote")

    def handle(self, *_: Any, file: Path, **__: Any) -> None:
        if not settings.DATABASE_URL:
            raise SystemExit(run_with_postgres(settings.HOME, "restore", str(file)))
        for line in report_lines(file, restore_backup(file.absolute())):
            self.stdout.write(line)


def report_lines(file: Path, report: RestoreReport) -> list[str]:
    tables, files = report.manifest.tables, len(report.manifest.files) - 1
    contents = f"{tables['experiments_study'].rows} studies, {tables['experiments_run'].rows} runs"
    rows = sum(each.rows for each in tables.values())
    return [
        f"Restored {file} of {report.manifest.made} into {settings.HOME.path}: {contents}, {files} files.",
        f"Compared: {rows} rows of {len(tables)} tables, and every file's SHA-256.",
        f"{report.requeued} runs that were at work are queued again. Everybody logs in anew, with the same password.",
    ]
