from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = (
        "The store for files (TRIBUTARY_STORE): looks whether it answers, and sends what this home has and it has not."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", nargs="?", default="check", choices=["check", "push"])

    def handle(self, *_: Any, action: str, **__: Any) -> None:
        from experiments.operations.store import store_push
        from workers.store.store import remote_store

        store = remote_store()
        if store is None:
            raise CommandError("The store is this home: set TRIBUTARY_STORE to a folder or an address to have another.")
        if action == "push":
            report = store_push()
            files = f"{report.files} models, checkpoints and logs"
            sent = f"{report.datasets} data sets, {report.apps} versions of apps, {files}"
            self.stdout.write(f"Sent to {store.label}: {sent}. What it had already was not sent again.")
            return
        store.check()
        self.stdout.write(f"{store.label} answers.")
