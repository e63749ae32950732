from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Starts and supervises everything: PostgreSQL, Redis, web server, workers and scheduler."
    requires_system_checks = ()

    def handle(self, *_: Any, **__: Any) -> None:
        from config.up import Platform

        Platform(settings.HOME).run()
