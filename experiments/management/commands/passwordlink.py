from typing import Any

from config.env import local_address
from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.urls import reverse

from experiments.access.services.passwords import LINK_DAYS, password_link_create
from experiments.management.commands.role import find_user


class Command(BaseCommand):
    help = (
        "Prints a one-time link with which a person chooses a password and is logged in."
        " Where log-in by password is off: for admins alone, who are let in by it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")

    def handle(self, *_: Any, name: str, **__: Any) -> None:
        link = password_link_create(user=find_user(name), actor=None)
        origin = next(iter(settings.CSRF_TRUSTED_ORIGINS), "") or local_address(settings.HOST, settings.PORT)
        self.stdout.write(f"For {name}, once, within {LINK_DAYS} days:")
        self.stdout.write(f"{origin.rstrip('/')}{reverse('choose-password', args=link)}")
