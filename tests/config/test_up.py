"""The supervisor as a real process, from nothing to a served page and back to nothing."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg2
import pytest
from config.env import ROOT
from config.home import Home
from config.services.account import erase_data
from config.services.server import port_of, reserve_port
from config.services.state import read_state, running_url

PATIENCE = 120


@pytest.fixture
def home():
    home = Home(Path(tempfile.mkdtemp(prefix="tributary-up-")) / "home")
    yield home
    erase_data(home, "postgres")
    shutil.rmtree(home.path.parent)


@pytest.fixture
def port():
    with reserve_port() as holder:
        yield port_of(holder)


def environment(home, port, **extra):
    fixed = {"TRIBUTARY_HOME": str(home.path), "PORT": str(port), "WORKERS": "1", "TRIBUTARY_TOUR": "0"}
    return os.environ | {"DATABASE_URL": "", "REDIS_URL": ""} | fixed | extra


def manage(*arguments, **environ):
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=PATIENCE)


@contextmanager
def platform(home, port, **extra):
    """Running, with everything it said up to its last line of greeting in `.greeting`."""
    command = [sys.executable, str(ROOT / "manage.py"), "up"]
    with subprocess.Popen(command, env=environment(home, port, **extra), stdout=subprocess.PIPE, text=True) as process:
        try:
            process.greeting = list(greeting(process.stdout))
            yield process
        finally:
            process.kill() if process.poll() is None else None


def greeting(lines):
    for line in lines:
        yield line.split()
        if "Ctrl-C" in line:
            return


def everything_below(process):
    return psutil.Process(process.pid).children(recursive=True)


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def health(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as reply:
        return reply.status


def test_it_starts_serves_restarts_what_crashes_stops_and_comes_back_with_its_data(home, port):
    with platform(home, port) as first:
        assert ["Open", f"http://127.0.0.1:{port}"] in first.greeting
        assert [line[1:6] for line in first.greeting if line[:1] == ["Admin"]] == [["log", "in", "as", "admin", "with"]]
        assert health(port) == 200
        assert set(read_state(home)) == {"postgres", "redis", "web", "worker-1", "housekeeping", "scheduler"}

        refused = manage("up", **environment(home, port + 1))
        assert refused.returncode == 1
        assert refused.stderr.startswith(f"Tributary already runs on {home.path} (process {first.pid})")

        made = manage("createuser", "ada", **environment(home, port))
        assert (made.returncode, made.stderr) == (0, "")

        crashed = read_state(home)["scheduler"]
        os.kill(crashed.pid, signal.SIGKILL)
        wait_until(lambda: read_state(home)["scheduler"] != crashed)

        family = everything_below(first)
        first.send_signal(signal.SIGTERM)
        assert first.wait(PATIENCE) == 0
        assert psutil.wait_procs(family, timeout=0)[1] == []
        assert read_state(home) == {}

    with platform(home, port) as second:
        assert [line for line in second.greeting if line[:1] == ["Admin"]] == []
        connection = psycopg2.connect(running_url(home, "postgres"))
        with connection, connection.cursor() as cursor:
            cursor.execute("SELECT username FROM experiments_user ORDER BY username")
            assert cursor.fetchall() == [("ada",), ("admin",)]
        connection.close()

        family = everything_below(second)
        second.kill()
        assert second.wait(PATIENCE) == -signal.SIGKILL
        assert psutil.wait_procs(family, timeout=PATIENCE)[1] == []


def test_a_taken_port_is_told_in_one_line(home):
    with reserve_port() as holder:
        holder.listen()
        taken = port_of(holder)
        done = manage("up", **environment(home, taken))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"Port {taken} on 127.0.0.1 is taken: stop what uses it, or choose another, as in `PORT={taken + 1} make up`.\n"
    )


def test_an_address_of_another_machine_is_told_in_one_line(home, port):
    done = manage("up", **environment(home, port, HOST="192.0.2.1"))
    assert done.returncode == 1
    assert done.stderr.startswith("HOST=192.0.2.1 is not an address of this machine")
    assert done.stderr.count("\n") == 1


def test_a_wrong_database_address_is_told_in_one_line(home, port):
    done = manage("up", **environment(home, port, DATABASE_URL="postgresql://ada:secret-word@127.0.0.1:1/none"))
    assert done.returncode == 1
    assert done.stderr.startswith("DATABASE_URL does not work: ")
    assert done.stderr.count("\n") == 1
    assert "secret-word" not in done.stderr


def test_a_home_that_cannot_be_written_is_told_in_one_line(port):
    done = manage("up", **environment(Home(Path("/proc/none")), port))
    assert done.returncode == 1
    assert done.stderr.startswith("TRIBUTARY_HOME (/proc/none) cannot be written: ")
    assert done.stderr.count("\n") == 1


def test_workers_alone_need_the_platforms_addresses(home, port):
    done = manage("workers", **environment(home, port))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Workers need the platform's DATABASE_URL and REDIS_URL")
