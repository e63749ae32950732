from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.backends.signals import connection_created
from pytest_django import Settings

from experiments.core.database import set_db_timeouts

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    connection_created.disconnect(dispatch_uid="set_db_timeouts")
    connection.close()


def test_a_session_that_stands_still_in_a_transaction_is_ended_when_its_lease_is_over(settings: Settings) -> None:
    settings.LEASE = 7
    set_db_timeouts()
    connection.close()
    with connection.cursor() as cursor:
        cursor.execute("SHOW idle_in_transaction_session_timeout")
        assert cursor.fetchone() == ("7s",)
