import os
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Runs housekeeping alone: deletions, data sets, what clients hold, trials of models, as a container does."
    requires_system_checks = ()

    def handle(self, *_: Any, **__: Any) -> None:
        from config.processes import child_environment, housekeeping_command

        command = housekeeping_command()
        os.execve(command[0], command, child_environment())
