"""How the platform's own processes write what they log: lines for people, or JSON for a collector of logs."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """One object a line: time, level, logger, message, whatever `extra` was given, and the traceback of an error."""

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
        }
        entry |= {name: value for name, value in vars(record).items() if name not in OWN_FIELDS}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, default=str)


def logging_settings(style: str) -> dict[str, Any]:
    formatters: dict[str, Any] = {
        "text": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"},
        "json": {"()": "config.logs.JsonFormatter"},
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": formatters,
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": style}},
        "root": {"handlers": ["console"], "level": "INFO"},
    }
