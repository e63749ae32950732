import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from workers.child_environment import environment_without_secrets

SUITE = "workers.engine.conformance"


class Command(BaseCommand):
    help = "A lab's own components: checks that those of a file keep what the platform relies on. Needs no database."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=["check"])
        parser.add_argument("file", type=Path, help="the file that declares the components")

    def handle(self, *_: Any, action: str, file: Path, **__: Any) -> None:
        """In a process of its own: it computes, and reads the components anew."""
        command, environment = [sys.executable, "-m", SUITE, str(file)], environment_without_secrets()
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as suite:
            for line in suite.stdout or ():
                self.stdout.write(line.rstrip("\n"))
                self.stdout.flush()
        if suite.returncode:
            raise SystemExit(suite.returncode)
