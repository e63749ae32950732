import signal
from threading import Event
from typing import Any

from config.home import keep_files_private
from django.core.management.base import BaseCommand

from experiments.queue.services.scheduler import Scheduler


class Command(BaseCommand):
    help = "Gives runs of silent workers to others and wakes idle workers while runs are queued."

    def handle(self, *_: Any, **__: Any) -> None:
        keep_files_private()
        stop = Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: stop.set())
        Scheduler().run(stop)
