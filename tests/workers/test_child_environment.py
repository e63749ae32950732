"""No process that computes has a secret of the platform, whoever starts it."""

from __future__ import annotations

import ast
from pathlib import Path

import psutil
import pytest

from experiments.core.subprocesses import ask_module
from workers.child_environment import environment_without_secrets
from workers.home import ROOT
from workers.queue.slot import RUNNER_COMMAND, runner_environment, spawn_runner
from workers.strategies._flower_classes import ask_inspection

SECRETS = {
    "SECRET_KEY": "s" * 40,
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "TRIBUTARY_ADMIN_PASSWORD": "correct horse battery",
    "TRIBUTARY_OIDC_CLIENT_SECRET": "known to the provider",
    "TRIBUTARY_STORE": "sftp://lab:secret@files.example.org/lab",
}
# These are the platform itself and its servers, and not code of the lab.
PLATFORM_PROCESSES = {"experiments/flower_apps/services.py", "experiments/datasets/services/job_processes.py"}


@pytest.fixture
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def witness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that answers with the names in its environment."""
    (tmp_path / "witness_module.py").write_text("import json, os\nprint(json.dumps(sorted(os.environ)))\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def test_the_secrets_go_and_the_rest_stays(secrets: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", "/models")
    environment = environment_without_secrets()
    assert not SECRETS.keys() & environment.keys()
    assert environment["HF_HOME"] == "/models"


def test_the_keys_of_a_store_go_with_it_and_are_the_plugins_own_without_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRIBUTARY_STORE", raising=False)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3")
    assert environment_without_secrets()["AWS_SECRET_ACCESS_KEY"] == "s3"
    monkeypatch.setenv("TRIBUTARY_STORE", "s3://bucket/lab")
    assert "AWS_SECRET_ACCESS_KEY" not in environment_without_secrets()


def test_a_runner_has_none(secrets: None) -> None:
    runner = spawn_runner(list(RUNNER_COMMAND), 1, runner_environment(1))
    try:
        assert not SECRETS.keys() & psutil.Process(runner.process.pid).environ().keys()
    finally:
        runner.kill()
        runner.close()


def test_what_describes_clients_or_tries_models_or_apps_has_none(secrets: None, witness: None) -> None:
    names = ask_module("witness_module", {}, timeout=30)
    assert "PYTHONPATH" in names
    assert not SECRETS.keys() & set(names)


def test_what_looks_into_a_strategy_of_the_labs_own_has_none(
    secrets: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "strategies"
    folder.mkdir()
    (folder / "_mine.py").write_text(f"import os\nraise ValueError(sorted(os.environ.keys() & {set(SECRETS)}))\n")
    monkeypatch.setenv("TRIBUTARY_PLUGINS", str(tmp_path))
    assert "ValueError: []" in ask_inspection("strategies._mine.Mine")["error"]


def test_every_call_that_starts_a_process_says_what_it_inherits() -> None:
    calls = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in ("workers", "experiments")
        for path in (ROOT / folder).rglob("*.py")
        if str(path.relative_to(ROOT)) not in PLATFORM_PROCESSES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("subprocess.run", "subprocess.Popen")
        and not any(keyword.arg == "env" for keyword in node.keywords)
    }
    assert calls == set()
