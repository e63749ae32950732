"""`services.json`: which processes run on this home, so that every command finds them. It holds no password."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import psutil

from config.home import Home, write_private
from config.services.server import with_password


@dataclass(frozen=True)
class ProcessRecord:
    """A process; of a server its address, without the password. Start time and pid together name it for ever."""

    pid: int
    started: float
    address: str = ""

    @property
    def alive(self) -> bool:
        return self.process() is not None

    def process(self) -> psutil.Process | None:
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.started) < 0.05
            return process if same and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.Error:
            return None


def process_record(pid: int, address: str = "") -> ProcessRecord:
    return ProcessRecord(pid, psutil.Process(pid).create_time(), address)


def read_state(home: Home) -> dict[str, ProcessRecord]:
    try:
        return {name: ProcessRecord(**fields) for name, fields in json.loads(home.state.read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def write_state(home: Home, records: dict[str, ProcessRecord]) -> None:
    write_private(home.state, json.dumps({name: asdict(record) for name, record in records.items()}))


def record_process(home: Home, name: str, record: ProcessRecord) -> None:
    write_state(home, read_state(home) | {name: record})


def running_url(home: Home, name: str) -> str:
    """The address of a service that runs on this home, with its password, or nothing."""
    record = read_state(home).get(name)
    return with_password(record.address, home.secret(name)) if record is not None and record.alive else ""
