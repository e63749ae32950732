"""A whole platform on servers of its own, which are stopped and frozen under it: what /healthz says, and what leaks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg2
import pytest
from config.env import ROOT
from config.home import Home
from config.processes import child_environment, scheduler_command, web_command
from config.services.postgres import Postgres
from config.services.redis import Redis
from config.services.server import port_of, reserve_port

from tests.live import LivePlatform, answers, eventually

PASSWORD = "Quartz-pelican-41-vestibule"
STUDY = {"dataset": {"name": "digits"}, "model": {"name": "logistic"}, "strategy": {"name": "fedavg"}, "rounds": 1}


@dataclass
class WholePlatform(LivePlatform):
    """Its database is not the tests' own: it may be taken away."""

    postgres: Any = None
    redis: Any = None

    @property
    def environment(self) -> dict[str, str]:
        around = child_environment(
            TRIBUTARY_HOME=str(self.home.path), DATABASE_URL=self.postgres.url, REDIS_URL=self.redis.url
        )
        around.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)
        return around | {"TRIBUTARY_TOUR": "0", "TRIBUTARY_ADMIN_PASSWORD": PASSWORD}

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def health(self) -> tuple[int, dict[str, Any]]:
        try:
            with urllib.request.urlopen(f"{self.base_url}/healthz", timeout=30) as reply:
                return reply.status, json.load(reply)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def sql(self, statement: str) -> list[tuple[Any, ...]]:
        connection = psycopg2.connect(self.postgres.url)
        try:
            with connection, connection.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchall() if cursor.description else []
        finally:
            connection.close()


@pytest.fixture(scope="module")
def platform() -> Iterator[WholePlatform]:
    home = Home(Path(tempfile.mkdtemp(prefix="tributary-health-")) / "home").make()
    found = WholePlatform(home, postgres=Postgres(home, throwaway=True), redis=Redis(home))
    try:
        found.postgres.start()
        found.redis.start()
        assert json.loads(found.manage("prepare").splitlines()[-1]) == {"password": None, "tour": False}
        found.start_web()
        yield found
    finally:
        found.stop()
        found.redis.stop()
        found.postgres.erase()
        shutil.rmtree(home.path.parent)


def report(status: str, database: str, broker: str, workers: int | None) -> dict[str, Any]:
    return {"status": status, "database": database, "broker": broker, "disk": "ok", "workers": workers}


WELL = (200, report("ok", "ok", "ok", 1))
IDLE = (200, report("degraded", "ok", "ok", 0))
NO_DATABASE = (503, report("down", "down", "ok", None))


def test_a_lab_without_workers_says_so(platform: WholePlatform) -> None:
    assert platform.health() == IDLE
    platform.start_worker()
    platform.start("scheduler", scheduler_command())
    assert platform.health() == WELL


def test_a_worker_that_fell_silent_is_none(platform: WholePlatform) -> None:
    worker = psutil.Process(platform.processes["worker-1"].pid)
    worker.suspend()
    platform.sql("UPDATE experiments_worker SET heartbeat = now() - interval '21 seconds'")
    assert platform.health() == IDLE
    worker.resume()
    eventually(lambda: platform.health() == WELL)


def test_a_stopped_broker_is_told(platform: WholePlatform) -> None:
    platform.redis.stop()
    assert platform.health() == (503, report("down", "ok", "down", 1))
    platform.redis.start()
    assert platform.health() == WELL


def test_a_stopped_database_is_told(platform: WholePlatform) -> None:
    platform.postgres.stop()
    assert platform.health() == NO_DATABASE
    platform.postgres.start()
    eventually(lambda: platform.health() == WELL)


def test_a_database_that_hangs_is_told_within_seconds(platform: WholePlatform) -> None:
    os.kill(platform.postgres.process.pid, signal.SIGSTOP)
    try:
        assert platform.health() == NO_DATABASE
    finally:
        os.kill(platform.postgres.process.pid, signal.SIGCONT)
    eventually(lambda: platform.health() == WELL)


@pytest.fixture(scope="module")
def secrets(platform: WholePlatform) -> dict[str, str]:
    found = {name: platform.home.secret(name) for name in ("secret-key", "postgres", "postgres-superuser", "redis")}
    token = platform.manage("token", "admin", "--scope", "write").strip().splitlines()[-1]
    assert token.startswith("trib_")
    return found | {"admin": PASSWORD, "token": token}


@pytest.fixture(scope="module")
def browser(platform: WholePlatform, secrets: dict[str, str]) -> Iterator[httpx.Client]:
    """An admin who logged in, after one try with a typing error."""
    with httpx.Client(base_url=platform.base_url, follow_redirects=True, timeout=30) as client:
        for password in (f"{PASSWORD}x", PASSWORD):
            client.get("/log-in")
            fields = {"username": "admin", "password": password, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
            client.post("/log-in", data=fields)
        yield client


@pytest.fixture(scope="module")
def study(platform: WholePlatform, secrets: dict[str, str]) -> int:
    """Launched with the token, and done."""
    with httpx.Client(
        base_url=f"{platform.base_url}/api/v1", headers={"Authorization": f"Bearer {secrets['token']}"}
    ) as lab:
        pk = lab.post("/studies", json={"name": "Small", "blocks": [STUDY]}).raise_for_status().json()["id"]
        eventually(lambda: lab.get(f"/studies/{pk}").json()["state"] == "done")
    return int(pk)


def leaks(text: str, secrets: dict[str, str]) -> list[str]:
    return [name for name, secret in secrets.items() if secret in text]


def test_no_page_and_no_export_holds_a_secret(browser: httpx.Client, study: int, secrets: dict[str, str]) -> None:
    run = browser.get(f"/api/v1/runs?study={study}").json()["items"][0]["id"]
    pages = ["/", "/queue", "/workers", "/data-sets", "/catalog", "/presets", "/compare", "/me", "/audit", "/healthz"]
    pages += [f"/studies/{study}", f"/studies/{study}/study.yaml", f"/runs/{run}", f"/runs/{run}/log", "/studies/new"]
    api = ["openapi.json", "docs", "workers", "audit", "metrics?format=csv", "export/specs?format=json", f"runs/{run}"]
    for page in [*pages, *(f"/api/v1/{each}" for each in api)]:
        answer = browser.get(page)
        assert answer.status_code == 200, page
        assert leaks(answer.text, secrets) == [], page


def test_no_command_line_holds_a_secret(
    platform: WholePlatform, study: int, secrets: dict[str, str], tmp_path: Path
) -> None:
    command = [sys.executable, str(ROOT / "manage.py"), "backup", str(tmp_path / "lab.backup")]
    seen: set[str] = set()
    with subprocess.Popen(command, env=platform.environment, stdout=subprocess.PIPE) as backup:
        while backup.poll() is None:
            seen |= command_lines()
            time.sleep(0.005)
    assert backup.returncode == 0
    for program in ("pg_dump", "celery", "uvicorn", "redis-server", "manage.py scheduler", "workers.queue.runner"):
        assert any(program in each for each in seen), program
    assert leaks("\n".join(seen), secrets) == []


def command_lines() -> set[str]:
    found = set()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.add(process.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found


def test_neither_logs_nor_commands_nor_the_database_hold_a_secret(
    platform: WholePlatform, browser: httpx.Client, study: int, secrets: dict[str, str]
) -> None:
    """After the outages above, whose errors are in the logs."""
    logs = sorted(platform.home.path.glob("**/*.log")) + sorted(platform.home.path.glob("runs/**/*.txt"))
    assert {"web.log", "worker-1.log", "scheduler.log", "postgres.log", "log.txt"} <= {log.name for log in logs}
    for log in logs:
        assert leaks(log.read_text(errors="replace"), secrets) == [], log
    assert leaks(platform.manage("doctor"), secrets) == []
    for (table,) in platform.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        rows = "\n".join(row for (row,) in platform.sql(f"SELECT each::text FROM {table} AS each"))
        assert leaks(rows, secrets) == [], table


def test_files_that_hold_secrets_are_their_owners_alone(platform: WholePlatform, secrets: dict[str, str]) -> None:
    holding = {
        path for path in platform.home.path.rglob("*") if path.is_file() and leaks(path.read_text("latin-1"), secrets)
    }
    assert {path.name for path in holding} >= {"secret-key", "postgres", "redis"}
    assert {path.parent for path in holding} == {platform.home.path / "secrets"}
    assert {path.stat().st_mode & 0o777 for path in holding} == {0o600}


def test_behind_tls_cookies_travel_encrypted_only_and_browsers_are_told_to_stay(platform: WholePlatform) -> None:
    with reserve_port() as holder:
        port = port_of(holder)
        platform.start("web-tls", web_command("127.0.0.1", port), TRIBUTARY_HTTPS="1")
        platform.wait_for("web-tls", lambda: answers(f"http://127.0.0.1:{port}"))
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as plain:
        refused = plain.get("/log-in")
        assert (refused.status_code, refused.headers["Location"]) == (301, f"https://127.0.0.1:{port}/log-in")
        assert plain.get("/healthz").status_code == 200
    safe = {"X-Forwarded-Proto": "https", "Referer": f"https://127.0.0.1:{port}/log-in"}
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30, headers=safe) as proxy:
        page = proxy.get("/log-in")
        assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
        token = page.cookies["csrftoken"]
        fields = {"username": "admin", "password": PASSWORD, "csrfmiddlewaretoken": token}
        entered = proxy.post("/log-in", data=fields, headers={"Cookie": f"csrftoken={token}"})
    assert entered.status_code == 302
    cookies = {cookie.partition("=")[0]: cookie for cookie in entered.headers.get_list("Set-Cookie")}
    assert set(cookies) == {"csrftoken", "sessionid", "device"}
    assert all("; SameSite=Lax" in each and "; Secure" in each for each in cookies.values())
    assert "; HttpOnly" in cookies["sessionid"]
