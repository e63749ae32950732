"""A server that goes away under an open connection, by each way it may go."""

import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from config.database.address import database_settings
from config.database.base import DatabaseWrapper
from config.home import Home
from config.services.postgres import Postgres
from django.db import IntegrityError, OperationalError
from django.db.utils import ConnectionHandler

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def server():
    folder = Path(tempfile.mkdtemp(prefix="tributary-database-"))
    server = Postgres(Home(folder / "home"), throwaway=True)
    server.start()
    yield server
    server.erase()
    shutil.rmtree(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT])
def test_a_connection_that_the_server_dropped_is_told_as_lost(server, number):
    handler = ConnectionHandler({"default": database_settings(server.url)})
    connection = handler["default"]
    assert type(connection) is DatabaseWrapper
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        server.process.send_signal(number)
        server.process.wait()
        with pytest.raises(OperationalError, match=r"server closed the connection|administrator command"):
            cursor.execute("SELECT 2")
    connection.close()
    server.start()
    with connection.cursor() as cursor:
        cursor.execute("SELECT 3")
        assert cursor.fetchone() == (3,)
    connection.close()


def test_what_the_server_refuses_keeps_its_kind(server):
    connection = ConnectionHandler({"default": database_settings(server.url)})["default"]
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE one (answer integer UNIQUE)")
        with pytest.raises(IntegrityError):
            cursor.execute("INSERT INTO one VALUES (42), (42)")
    connection.close()
