"""No phoning home: the usage reports of the libraries below are off unless a person switches them on."""

from __future__ import annotations

import os

SILENT = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_USAGE_STATS_PROMPT_ENABLED": "0",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}


def hush() -> None:
    for name, value in SILENT.items():
        os.environ.setdefault(name, value)
