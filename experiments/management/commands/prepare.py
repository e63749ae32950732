import json
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    requires_system_checks = ()
    help = "Brings the database up to date; at the first start makes the admin and queues the tour."

    def handle(self, *_: Any, **__: Any) -> None:
        from config.up import prepare_database

        self.stdout.write(json.dumps(prepare_database()))
