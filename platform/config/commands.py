"""Runs a manage.py command; what a person can mend is told in a line, not as a traceback."""

from __future__ import annotations

import errno
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import OperationalError

from workers.errors import TributaryError


def run_command(arguments: list[str]) -> int:
    try:
        execute_from_command_line(arguments)
    except TributaryError as error:
        return print_refusal(str(error))
    except OperationalError as error:
        return print_refusal(
            f"The database does not answer: {first_line(error)} Check DATABASE_URL, or start it with `make up`."
        )
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        place = f" to write {error.filename}" if error.filename else ""
        return print_refusal(f"No room is left on the disk{place}: free some space, then try again.")
    except ImproperlyConfigured as error:
        if "ENGINE" not in str(error):
            raise
        return print_refusal(not_running_message())
    return 0


def not_running_message() -> str:
    from django.conf import settings

    return f"Nothing runs on {settings.HOME.path}: start Tributary with `make up`, or set DATABASE_URL."


def first_line(error: Exception) -> str:
    text = (str(error).strip().splitlines() or ["no reason given"])[0]
    return text if text.endswith((".", "!")) else f"{text}."


def print_refusal(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1
