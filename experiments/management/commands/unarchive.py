from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from experiments.management.commands.launch import find_owner
from workers.errors import TributaryError


class Command(BaseCommand):
    help = "Imports an archived study: its runs as they were, done ones that the lab has already are reused."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--owner", help="who owns the study; the first admin otherwise")

    def handle(self, *_: Any, file: Path, owner: str | None, **__: Any) -> None:
        from experiments.study_archives.services import study_unarchive

        try:
            report = study_unarchive(owner=find_owner(owner), path=file)
        except TributaryError as error:
            raise CommandError(error.detail) from None
        if report.known:
            self.stdout.write(f"It was imported before, as study {report.study.pk}.")
        else:
            self.stdout.write(f"Study {report.study.pk}: {report.new} runs imported, {report.reused} were here.")
