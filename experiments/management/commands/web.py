import os
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Runs the web server alone on HOST and PORT, as a container does."
    requires_system_checks = ()

    def handle(self, *_: Any, **__: Any) -> None:
        from config.processes import child_environment, web_command
        from config.web_host import run_web_processes

        if settings.WEB_PROCESSES > 1:
            run_web_processes()
            return
        command = web_command(settings.HOST, settings.PORT)
        os.execve(command[0], command, child_environment())
