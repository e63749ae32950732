"""The README's script, as printed there, against a lab that runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.access.services.people import user_create
from experiments.access.services.tokens import token_create
from experiments.models import RunState, Study
from tests.live import LivePlatform

README = Path(__file__).parents[3] / "README.md"


def script() -> str:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    return str(code)


def test_it_has_ten_lines() -> None:
    assert len(script().splitlines()) == 10


@pytest.mark.django_db(transaction=True)
def test_it_launches_a_grid_waits_and_plots(live_platform: LivePlatform, tmp_path: Path) -> None:
    owner, _ = user_create(name="reader", role="member")
    _, secret = token_create(owner=owner, name="README", scope="write")
    where = {"LAB_URL": f"{live_platform.base_url}/api/v1", "LAB_TOKEN": secret}
    command = [sys.executable, "-c", script()]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | where, capture_output=True, text=True, timeout=240)
    assert (done.returncode, done.stderr) == (0, "")
    study = Study.objects.get(name="From a script")
    assert {run.state for run in study.runs.all()} == {RunState.DONE}
    page = (tmp_path / "accuracy.html").read_text()
    curves = re.findall(r'"name":"(\w+)",', page)
    assert sorted(curves) == ["fedavg", "fedprox", "scaffold"]
    assert page.count('"x":[0,1,2,3,4,5]') == 3
