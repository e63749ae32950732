from getpass import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from experiments.access.services.people import user_create
from experiments.models import Role


class Command(BaseCommand):
    help = "Creates a user and prints a random password once, or asks for one with --ask."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--role", choices=Role.values, default=Role.MEMBER.value)
        parser.add_argument("--ask", action="store_true", help="ask for the password instead of making one")

    def handle(self, *_: Any, name: str, role: str, ask: bool, **__: Any) -> None:
        user, password = user_create(name=name, role=role, password=getpass() if ask else None)
        self.stdout.write(f"Created {user.username} ({role}).")
        if password:
            self.stdout.write(f"Password, shown only now: {password}")
