from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from workers.home import home


@pytest.fixture(scope="module")
def real_data(real: Callable[[str], Path]) -> Iterator[None]:
    """The data of all quick scales, imported into the tests' home from its publishers' files, and gone afterwards."""
    names = ("mnist", "uci-har", "cifar10", "femnist")
    for name in names:
        call_command("datasets", "import", name, str(real(name)), stdout=StringIO())
    yield
    for name in (*names, "femnist-digits"):
        shutil.rmtree(home() / "datasets" / name)
