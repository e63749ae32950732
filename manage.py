#!/usr/bin/env python
"""Runs Tributary's commands: `manage.py up` starts everything, `manage.py help` lists the rest."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent


def add_to_path() -> None:
    """Makes `config` importable here and in every child process, however deep."""
    folders = [str(ROOT), str(ROOT / "platform")]
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([*folders, *(each for each in known if each and each not in folders)])


def main() -> int:
    add_to_path()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        from config.commands import run_command
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f"{error.name} is not installed for {sys.executable}: run `make up` once, then .venv/bin/python.\n"
        )
        return 1
    return run_command(sys.argv)


if __name__ == "__main__":
    sys.exit(main())
