import os
import subprocess
import sys
from pathlib import Path

import pytest
from config import commands
from config.celery import broker_address
from config.database.address import database_settings, databases_setting
from config.env import ROOT, SettingError, default_allowed_hosts
from django.conf import settings


def manage(*arguments, **environ):
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=os.environ | environ, capture_output=True, text=True, check=False)


def test_a_database_address_is_taken_apart():
    found = database_settings("postgresql://ada:p%40ss@db.lab:6432/fl%20runs?sslmode=require")
    assert {key: found[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")} == {
        "NAME": "fl runs",
        "USER": "ada",
        "PASSWORD": "p@ss",
        "HOST": "db.lab",
        "PORT": "6432",
    }
    assert found["OPTIONS"]["sslmode"] == "require"


def test_a_unix_socket_is_a_host_that_is_a_folder():
    found = database_settings("postgresql://ada:pass@/runs?host=/run/my%20lab&require_auth=scram-sha-256")
    assert (found["NAME"], found["HOST"], found["PORT"]) == ("runs", "/run/my lab", "5432")
    assert found["OPTIONS"]["require_auth"] == "scram-sha-256"
    assert not {"host", "port"} & set(found["OPTIONS"])


@pytest.mark.parametrize(
    ("url", "broker"),
    [
        ("redis://:pass@lab:6379/1", "redis://:pass@lab:6379/1"),
        ("unix://:pass@/run/lab/redis.sock?db=2", "redis+socket://:pass@/run/lab/redis.sock?virtual_host=2"),
    ],
)
def test_celery_reaches_the_same_redis(url, broker):
    assert broker_address(url) == broker


def test_a_dead_network_is_noticed():
    options = database_settings("postgresql://ada@db/runs")["OPTIONS"]
    assert options["keepalives"] == 1
    assert options["keepalives_idle"] + options["keepalives_interval"] * options["keepalives_count"] == 25
    assert options["tcp_user_timeout"] == 25_000


def test_a_database_address_without_a_name_is_refused():
    with pytest.raises(SettingError, match="must name a database"):
        database_settings("postgresql://ada@db")


def test_no_address_means_no_database():
    assert databases_setting("") == {}


def test_a_local_server_answers_to_local_names_only():
    assert default_allowed_hosts("127.0.0.1") == ["localhost", "127.0.0.1", "[::1]"]
    assert default_allowed_hosts("10.1.2.3") == ["localhost", "127.0.0.1", "[::1]", "10.1.2.3"]


def test_a_server_for_the_network_answers_to_the_machines_names_but_not_to_any():
    found = default_allowed_hosts("0.0.0.0")
    assert os.uname().nodename in found
    assert "*" not in found


def test_it_is_safe_by_default():
    assert settings.DEBUG is False
    assert len(settings.SECRET_KEY) >= 32
    assert "experiments.web.refusals.LogInMiddleware" in settings.MIDDLEWARE
    assert settings.SESSION_COOKIE_HTTPONLY is True


def test_a_malformed_setting_is_told_in_one_line():
    done = manage("check", PORT="eighty")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "PORT must be a whole number from 1 to 65535, but is 'eighty'.\n"


def test_a_command_without_a_database_says_how_to_get_one(tmp_path):
    done = manage("showmigrations", TRIBUTARY_HOME=str(tmp_path), DATABASE_URL="", REDIS_URL="")
    assert done.returncode == 1
    assert done.stderr == f"Nothing runs on {tmp_path}: start Tributary with `make up`, or set DATABASE_URL.\n"


def test_a_command_with_a_wrong_database_says_so_in_one_line():
    done = manage("showmigrations", DATABASE_URL="postgresql://ada:secret-word@127.0.0.1:1/none")
    assert done.returncode == 1
    assert done.stderr.startswith("The database does not answer: ")
    assert done.stderr.count("\n") == 1
    assert "secret-word" not in done.stderr


def test_a_home_that_cannot_be_written_is_told_in_one_line():
    done = manage("check", TRIBUTARY_HOME="/proc/none", SECRET_KEY="")
    assert done.returncode == 1
    assert done.stderr.startswith("TRIBUTARY_HOME (/proc/none) cannot be written: ")
    assert done.stderr.count("\n") == 1


@pytest.mark.django_db
def test_migrations_are_complete():
    from django.core.management import call_command

    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_a_full_disk_is_told_in_one_line(monkeypatch, capsys):
    def write(_arguments):
        Path("/dev/full").write_text("x")

    monkeypatch.setattr(commands, "execute_from_command_line", write)
    assert commands.run_command(["manage.py", "up"]) == 1
    assert capsys.readouterr().err == "No room is left on the disk: free some space, then try again.\n"
