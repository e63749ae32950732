from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from experiments.access.services.tokens import token_create
from experiments.management.commands.role import find_user
from experiments.models import Scope


class Command(BaseCommand):
    help = "Makes an API token for a user and prints it, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user")
        parser.add_argument("--scope", choices=Scope.values, default=Scope.READ.value)
        parser.add_argument("--name", default="command line", help="what will use it")
        parser.add_argument("--days", type=int, help="how long it is valid; otherwise until it is revoked")

    def handle(self, *_: Any, user: str, scope: str, name: str, days: int | None, **__: Any) -> None:
        _token, secret = token_create(owner=find_user(user), name=name, scope=scope, days=days)
        self.stdout.write(secret)
