from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from experiments.access.services.sign_on import account_connect
from experiments.management.commands.role import find_user


class Command(BaseCommand):
    help = "Connects a person of this lab with their account at the sign-on provider, named by the provider's subject."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("subject", help="as the page that refused the log-in, or the audit log, has it")

    def handle(self, *_: Any, name: str, subject: str, **__: Any) -> None:
        account_connect(sign_on=settings.SIGN_ON, person=find_user(name), subject=subject)
        self.stdout.write(f"Whoever signs on as {subject} is {name} from now on.")
