"""`manage.py plugin check FILE` sees what breaks a promise, and passes what keeps it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers.catalog.plugins.examples import write, write_documented

ROOT = Path(__file__).resolve().parents[3]
NOTHING_RUNS = {"DATABASE_URL": "postgres://a:b@127.0.0.1:1/x", "REDIS_URL": "redis://127.0.0.1:1"}

FAULTY = """
import random
from types import SimpleNamespace
import numpy as np
from workers.plugin import Arrays, Dataset, DatasetFacts, Model, Partition, Strategy, elements

class Losing(Partition):
    '''The last client gets two samples too few.'''
    name = "losing"
    label = "Losing"

    def split(self, data, params):
        parts = np.array_split(data.rng.permutation(len(data.labels)), data.clients)
        return [*parts[:-1], parts[-1][:-2]]

class Miscounted(Model):
    '''Forgets its biases.'''
    name = "miscounted"
    label = "Miscounted"

    def refusal(self, shape, classes, params):
        return None

    def parameter_count(self, shape, classes, params=None):
        return elements(shape) * classes

    def build(self, shape, classes, params):
        from torch import nn
        return nn.Sequential(nn.Flatten(), nn.Linear(elements(shape), classes))

class Misdeclared(Dataset):
    '''Has fewer samples than it says.'''
    name = "misdeclared"
    label = "Misdeclared"

    def facts(self, params):
        return DatasetFacts((4,), 3, 90, 30)

    def load(self, params):
        x, y = np.ones((110, 4), np.float32), np.arange(110) % 3
        return Arrays(x[:80], y[:80], x[80:], y[80:])

    def checksum(self, params):
        return "1"

class Gambling(Strategy):
    '''Draws where nobody can draw again.'''
    name = "gambling"
    label = "Gambling"

    def build(self, params, context):
        from workers.plugin import Averaging, Method

        class Server(Averaging):
            def combine(self, server_round, replies):
                return {name: value * random.SystemRandom().random() for name, value in self.mean(replies).items()}

        return Method(Server(context))

class Remembering(Strategy):
    '''Counts its rounds in an object of its own.'''
    name = "remembering"
    label = "Remembering"

    def build(self, params, context):
        from workers.plugin import Averaging, Method

        class Server(Averaging):
            def __init__(self, context):
                super().__init__(context)
                self.memory = SimpleNamespace(rounds=0)

            def combine(self, server_round, replies):
                self.memory.rounds += 1
                return self.mean(replies)

        return Method(Server(context))

class Pretending(Strategy):
    '''Leaves another model than it shows.'''
    name = "pretending"
    label = "Pretending"

    def build(self, params, context):
        from workers.plugin import Averaging, Method

        class Server(Averaging):
            def __init__(self, context):
                super().__init__(context)
                self.start = context.initial

            def final_model(self, model, clients):
                return self.start

        return Method(Server(context))
"""
FAULTS = {
    "partition losing": {
        "every sample goes to one client, and no client is empty": (
            "2 of 600 samples go to no client (600 samples, 5 clients)"
        ),
        "the engines cohort and sequential agree": (
            "The partition losing does not hand out every sample once: 2 of 90 samples go to no client."
        ),
    },
    "model miscounted": {
        "parameter_count() counts what build() makes": "12 in place of 15, for samples of shape (4,) in 3 classes"
    },
    "dataset misdeclared": {"facts() tells what load() gives": "train is 80, not 90"},
    "strategy gambling": {"the same run again is equal to the bit": ""},
    "strategy remembering": {
        "a run that resumes ends equal to the bit, its state is complete": (
            "Server.memory changes from round to round, and a checkpoint cannot hold it (of type SimpleNamespace)"
        )
    },
    "strategy pretending": {"the model that is left is the one that was evaluated": "its loss is "},
}


def check(file: Path) -> tuple[int, list[str]]:
    finished = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "plugin", "check", str(file)],
        env={**os.environ, **NOTHING_RUNS, "TRIBUTARY_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return finished.returncode, (finished.stdout + finished.stderr).splitlines()


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> tuple[int, list[str]]:
    return check(write(tmp_path_factory.mktemp("lab"), "faulty.py", FAULTY))


def test_the_documented_strategy_passes_without_a_platform(tmp_path: Path) -> None:
    write_documented(tmp_path)

    assert check(tmp_path / "strategies" / "fedclip.py") == (
        0,
        [
            "ok    strategy fedclip: the declaration is valid",
            "ok    strategy fedclip: the engines cohort and sequential agree",
            "ok    strategy fedclip: the same run again is equal to the bit",
            "ok    strategy fedclip: a run that resumes ends equal to the bit, its state is complete",
            "ok    strategy fedclip: the model that is left is the one that was evaluated",
        ],
    )


def test_a_file_with_faults_fails(faulty: tuple[int, list[str]]) -> None:
    assert faulty[0] == 1


@pytest.mark.parametrize("component", FAULTS)
def test_each_fault_is_told_with_its_check(component: str, faulty: tuple[int, list[str]]) -> None:
    for name, fault in FAULTS[component].items():
        assert any(line.startswith(f"FAILS {component}: {name}: {fault}") for line in faulty[1]), faulty[1]


def test_what_is_right_with_a_faulty_component_is_told_too(faulty: tuple[int, list[str]]) -> None:
    assert "ok    model miscounted: the engines cohort and sequential agree" in faulty[1]
    assert "ok    strategy remembering: the same run again is equal to the bit" in faulty[1]


def test_a_file_that_cannot_be_read_fails_with_its_line(tmp_path: Path) -> None:
    assert check(write(tmp_path, "wrong.py", "1 / 0")) == (
        1,
        ["FAILS wrong.py: the declaration is valid: ZeroDivisionError: division by zero, line 1 of wrong.py."],
    )


def test_a_helper_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    helper = write(tmp_path, "_helper.py", "")

    assert check(helper) == (
        2,
        ["_helper.py is a helper and declares no component: name the file that imports it."],
    )
    assert check(tmp_path / "none.py") == (2, [f"There is no file {tmp_path / 'none.py'}."])
