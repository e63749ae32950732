from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

from config.env import ROOT
from config.logs import JsonFormatter


def test_a_line_of_json_has_time_place_message_and_traceback() -> None:
    try:
        raise ValueError("nine\nlines")
    except ValueError:
        record = logging.getLogger("lab.queue").makeRecord(
            "lab.queue", logging.ERROR, "f.py", 1, "run %s: %s", (7, "ö"), sys.exc_info(), extra={"run": 7}
        )
    record.created = 1_772_366_400.25

    line = JsonFormatter().format(record)
    entry = json.loads(line)
    assert "\n" not in line
    assert (entry["time"], entry["level"], entry["logger"], entry["message"], entry["run"]) == (
        "2026-03-01T12:00:00.250+00:00",
        "ERROR",
        "lab.queue",
        "run 7: ö",
        7,
    )
    assert entry["traceback"].endswith("ValueError: nine\nlines")


def test_the_setting_reaches_the_processes(tmp_path: Path) -> None:
    environment = {
        "TRIBUTARY_LOGS": "json",
        "TRIBUTARY_HOME": str(tmp_path),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}",
    }
    code = "import django, logging; django.setup(); logging.getLogger('lab').warning('Hello')"
    reply = subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, capture_output=True, text=True)
    (line,) = reply.stderr.splitlines()
    assert (json.loads(line)["logger"], json.loads(line)["message"]) == ("lab", "Hello")
