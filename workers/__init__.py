"""Compute: specs, catalog, engine and its components. Nothing but `queue/task.py` knows Django."""

import os

# No phoning home: the usage reports of libraries are off unless a person switches them on.
TELEMETRY_OFF = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_USAGE_STATS_PROMPT_ENABLED": "0",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}


def disable_telemetry() -> None:
    for name, value in TELEMETRY_OFF.items():
        os.environ.setdefault(name, value)


disable_telemetry()
