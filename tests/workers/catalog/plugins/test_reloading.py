"""A file that is edited under a process that goes on: what is read anew, and what takes a restart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.workers.catalog.plugins.examples import write
from workers.home import ROOT

OWN = """
from workers.plugin import SimpleStrategy, param
from . import _helper

class Own(SimpleStrategy):
    '''Does as the others do.'''

    mu: float = param(0.5, gt=0)

    def problems(self, spec):
        return _helper.problems(spec)
"""
HELPER = "def problems(spec):\n    return ()\n"
REFUSING = """
from workers.plugin import Problem

def problems(spec):
    return [Problem("rounds", "Own wants more.")]
"""
SCRIPT = """
import json, os, sys
from pathlib import Path
from workers.catalog import load_catalog
from workers.errors import SpecError
from workers.spec import expand
folder = Path(os.environ["TRIBUTARY_PLUGINS"])
block = {"dataset": {"name": "blobs"}, "model": {"name": "logistic"}, "strategy": {"name": "own"}}

def launch():
    try:
        return expand([block]).runs[0].hash
    except SpecError as error:
        return [problem.message for problem in error.errors]

answers = [launch()]
for file, text in json.loads(sys.argv[1]):
    (folder / file).write_text(text)
    if sys.argv[2] == "computes":
        import torch
    answers.append(launch())
problems = [problem.message for problem in load_catalog().problems]
print(json.dumps({"answers": answers, "problems": problems, "torch": "torch" in sys.modules}))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "own.py", OWN)
    write(tmp_path, "_helper.py", HELPER)
    return tmp_path


def launches(folder: Path, edits: list[tuple[str, str]], kind: str = "only declares") -> dict[str, Any]:
    """What a process answers to a launch before and after each edit."""
    process = subprocess.run(
        [sys.executable, "-B", "-c", SCRIPT, json.dumps(edits), kind],
        env={**os.environ, "TRIBUTARY_PLUGINS": str(folder), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    answer: dict[str, Any] = json.loads(process.stdout)
    return answer


def restart(folder: Path) -> list[str]:
    return [f"Restart Tributary: {folder / 'own.py'}, or a file that it needs, changed after it was read."]


def test_new_code_of_the_same_declaration_is_taken_at_once(folder: Path) -> None:
    """The helper too, which the package still knows by its old name; the old content gives the old identity."""
    edits = [("own.py", OWN + "\n# new"), ("_helper.py", REFUSING), ("_helper.py", HELPER), ("own.py", OWN)]

    seen = launches(folder, edits)

    first, edited, refused, again, back = seen["answers"]
    assert first != edited == again
    assert refused == ["Own wants more."]
    assert back == first
    assert (seen["problems"], seen["torch"]) == ([], False)


def test_other_parameters_words_or_broken_code_take_a_restart_and_what_comes_after_may_not(folder: Path) -> None:
    edits = [
        ("own.py", OWN.replace("gt=0", "gt=0, le=1")),
        ("own.py", OWN.replace("Does as", "Does not as")),
        ("own.py", OWN.replace("param(0.5, gt=0)", "param(")),
        ("own.py", OWN + "\n# new"),
        ("own.py", OWN.replace("0.5", "0.25")),
    ]

    first, bounds, words, broken, sound, default = launches(folder, edits)["answers"]

    assert bounds == words == broken == default == restart(folder)
    assert isinstance(sound, str)
    assert sound != first


def test_the_problem_is_told_while_it_lasts(folder: Path) -> None:
    seen = launches(folder, [("own.py", OWN.replace("gt=0", "gt=0, le=1"))])

    assert seen["problems"] == ["It, or a file that it needs, changed after it was read: restart Tributary."]


def test_a_process_that_computes_is_never_given_new_code(folder: Path) -> None:
    seen = launches(folder, [("_helper.py", HELPER + "\n# new")], "computes")

    assert seen["answers"][1] == restart(folder)
