"""A command that needs the database of a home on which nothing runs."""

from __future__ import annotations

import subprocess
import sys

from config.env import ROOT
from config.home import Home
from config.leftovers import clear_leftovers
from config.preflight import lock
from config.processes import environment
from config.services.postgres import Postgres


def run_alone(home: Home, *arguments: str) -> int:
    """Runs `manage.py arguments` beside an embedded PostgreSQL that lives only as long; returns its exit code."""
    with lock(home):
        clear_leftovers(home)
        server = Postgres(home=home)
        server.start()
        try:
            around = environment(TRIBUTARY_HOME=str(home.path), DATABASE_URL=server.url)
            return subprocess.run(
                [sys.executable, str(ROOT / "manage.py"), *arguments], env=around, check=False
            ).returncode
        finally:
            server.stop()
