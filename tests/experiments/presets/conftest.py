from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from workers.home import home

REAL = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(scope="module")
def real_data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The data of all quick scales, imported into the tests' home from its publishers' files, and gone afterwards."""
    if not REAL.exists():
        pytest.skip("real data sets are not beside the repository (../shared/data)")
    folder = tmp_path_factory.mktemp("originals")
    names = ("mnist", "uci-har", "cifar10", "femnist")
    subprocess.run([sys.executable, str(REAL / "unpack"), str(folder), *names], check=True, capture_output=True)
    for name in names:
        call_command("datasets", "import", name, str(folder / name), stdout=StringIO())
    yield
    for name in (*names, "femnist-digits"):
        shutil.rmtree(home() / "datasets" / name)
