"""What the compose file has PostgreSQL and Redis do, done by real ones: the images themselves are not here."""

import os
import shutil
import signal
import stat
import subprocess
import tempfile
from pathlib import Path

import psutil
import psycopg2
import pytest
import redis
import yaml
from config.home import Home
from config.services.postgres import Postgres, postgres_program
from config.services.redis import redis_program

from tests.live import eventually

FOLDER = Path(__file__).resolve().parents[2] / "docker"
SERVICES = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]


@pytest.fixture
def cluster():
    """As the image makes it: with its superuser, and nothing of ours."""
    folder = Path(tempfile.mkdtemp(prefix="tributary-compose-"))
    server = Postgres(Home(folder / "home"), throwaway=True)
    server.start()
    run_sql(server, "-c", "DROP DATABASE tributary", "-c", "DROP ROLE tributary")
    yield server
    server.erase()
    shutil.rmtree(folder)


def run_sql(server, *arguments, **environment):
    place = {"PGHOST": str(server.folder), "PGPASSWORD": server.home.secret("postgres-superuser")}
    command = [postgres_program("psql"), "--username=postgres", "--set=ON_ERROR_STOP=1", *arguments]
    subprocess.run(command, env=os.environ | place | environment, capture_output=True, check=True)


def roles(server, user, password):
    connection = psycopg2.connect(host=str(server.folder), user=user, password=password, dbname="tributary")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT rolname, rolsuper FROM pg_roles WHERE rolcanlogin ORDER BY 1")
            return cursor.fetchall()
    finally:
        connection.close()


def test_the_platforms_role_is_no_superuser_and_the_superuser_has_no_password(cluster):
    assert SERVICES["postgres"]["volumes"][1] == "./postgres.sql:/docker-entrypoint-initdb.d/tributary.sql:ro"
    assert SERVICES["postgres"]["environment"].keys() == {"POSTGRES_PASSWORD"}
    run_sql(cluster, f"--file={FOLDER / 'postgres.sql'}", POSTGRES_PASSWORD="it's-chosen")
    assert roles(cluster, "tributary", "it's-chosen") == [("postgres", True), ("tributary", False)]
    for password in ("it's-chosen", cluster.home.secret("postgres-superuser")):
        with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
            roles(cluster, "postgres", password)


@pytest.fixture
def broker():
    """The service's command, with the folder of its file and of its socket in place of the container's."""
    service = SERVICES["redis"]
    shell, flag, script = service["command"]
    with tempfile.TemporaryDirectory() as folder:
        script = script.replace("$$", "$").replace("/run/redis", folder)
        script = f"{script.rstrip()} --port 0 --unixsocket {folder}/socket\n"
        environment = {"PATH": f"{redis_program().parent}:{os.defpath}", "REDISCLI_AUTH": "chosen"}
        process = subprocess.Popen([shell, flag, script], env=environment, stdout=subprocess.DEVNULL)
        eventually(Path(folder, "socket").exists, 20)
        yield process, Path(folder)
        process.kill()
        process.wait()


def test_redis_runs_as_its_own_account_and_hears_the_signal_to_stop(broker):
    process, folder = broker
    assert SERVICES["redis"]["user"] == "redis"
    assert psutil.Process(process.pid).name() == "redis-server"
    assert "chosen" not in " ".join(psutil.Process(process.pid).cmdline())
    assert stat.S_IMODE((folder / "redis.conf").stat().st_mode) == 0o600
    with redis.Redis(unix_socket_path=f"{folder}/socket", password="chosen") as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        assert client.config_get("save") == {"save": ""}
        assert client.config_get("client-output-buffer-limit")["client-output-buffer-limit"].startswith(
            "normal 8388608 2097152 10 "
        )
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
