from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from config.up import run_with_postgres
from django.conf import settings
from django.core.management.base import BaseCommand

from experiments.operations.backup.backup import BackupReport, create_backup


class Command(BaseCommand):
    help = "Writes the database and what runs left on disk to one file, while everything goes on."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the file to write; one that is there is not overwritten")

    def handle(self, *_: Any, file: Path, **__: Any) -> None:
        if not settings.DATABASE_URL:
            raise SystemExit(run_with_postgres(settings.HOME, "backup", str(file)))
        for line in report_lines(file, create_backup(file.absolute())):
            self.stdout.write(line)


def report_lines(file: Path, report: BackupReport) -> list[str]:
    tables, files = report.manifest.tables, len(report.manifest.files) - 1
    contents = f"{tables['experiments_study'].rows} studies, {tables['experiments_run'].rows} runs"
    lines = [f"Wrote {file}: {report.bytes / 1e6:.1f} MB, {contents}, {files} files."]
    if report.models_elsewhere:
        lines.append(f"{report.models_elsewhere} final models are not in this home, and so not in the backup.")
    lines.append("It holds password hashes and everybody's studies: keep it as safe as the platform itself.")
    return lines
