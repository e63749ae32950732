"""What must hold before anything is started; each refusal says what to do."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from typing import IO
from urllib.parse import urlsplit

import psycopg2
import redis

from config.home import Home
from workers.errors import TributaryError


class StartError(TributaryError):
    """Something in this machine's or the person's settings keeps the platform from starting."""


def lock(home: Home) -> IO[str]:
    """Held open as long as the platform runs on this home; the kernel frees it even after kill -9."""
    home.make()
    file = home.lock.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "another process"
        file.close()
        raise StartError(
            f"Tributary already runs on {home.path} ({holder}): stop it there, or set TRIBUTARY_HOME to another folder."
        ) from None
    file.truncate(0)
    file.write(f"process {os.getpid()}")
    file.flush()
    return file


def check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise StartError(port_problem(host, port, error)) from None


def port_problem(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Port {port} on {host} is taken: stop what uses it, or choose another, as in `PORT={port + 1} make up`."
    if error.errno == errno.EACCES:
        return f"Port {port} is reserved for root: choose one above 1023, as in `PORT=8000 make up`."
    return f"HOST={host} is not an address of this machine ({error.strerror}): use 127.0.0.1 or 0.0.0.0."


def check_database(url: str) -> None:
    try:
        psycopg2.connect(url, connect_timeout=5).close()
    except psycopg2.Error as error:
        reason = (str(error).strip().splitlines() or ["no reason given"])[-1]
        raise StartError(
            f"DATABASE_URL does not work: {reason}. Correct it, or unset it to use the embedded one."
        ) from None


def check_redis(url: str) -> None:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
    except redis.RedisError as error:
        place = urlsplit(url).hostname
        raise StartError(
            f"REDIS_URL does not work: {place} says {error}. Correct it, or unset it to use the embedded one."
        ) from None
