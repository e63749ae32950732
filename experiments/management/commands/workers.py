from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Starts and supervises workers only, for a further machine: set DATABASE_URL and REDIS_URL."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", default="node", help="first part of the workers' names on this machine")

    def handle(self, *_: Any, name: str, **__: Any) -> None:
        from config.crew import run

        run(name)
