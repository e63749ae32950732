import signal
from argparse import ArgumentParser
from pathlib import Path
from threading import Event
from typing import Any

from config.home import keep_files_private
from django.core.management.base import BaseCommand

from experiments.queue.services.host_agent import HostAgent


class Command(BaseCommand):
    help = "Has the connections to PostgreSQL for the workers of this host; started by `up` and `workers`."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("address", type=Path, help="where its socket is made")
        parser.add_argument("--connections", type=int, default=1)

    def handle(self, *_: Any, address: Path, connections: int, **__: Any) -> None:
        keep_files_private()
        stop = Event()
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: stop.set())
        HostAgent(address, connections).run(stop)
