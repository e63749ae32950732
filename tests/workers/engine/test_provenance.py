from __future__ import annotations

import getpass
import json
import re
import socket
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from workers.engine.provenance import git_commit, run_provenance
from workers.engine_version import ENGINE_VERSION


def test_it_tells_versions_engine_device_and_seconds() -> None:
    facts = run_provenance(engine="cohort", device="cpu", seconds=1.5, data_checksum="1a2b")
    assert (facts["engine"], facts["device"], facts["seconds"]) == ("cohort", "cpu", 1.5)
    assert (facts["data_checksum"], facts["engine_version"]) == ("1a2b", ENGINE_VERSION)
    assert facts["packages"]["torch"] == version("torch")
    assert facts["packages"]["flwr"] == version("flwr")
    assert re.fullmatch(r"3\.\d+\.\d+", facts["python"])
    assert facts["threads"] >= 1
    assert facts["cpu"] == facts["device_name"] != ""


def test_it_is_json_and_names_no_host_person_or_folder() -> None:
    text = json.dumps(run_provenance(engine="cohort", device="cpu", seconds=0.1, data_checksum="1a2b"))
    assert not re.search(rf"\b{re.escape(socket.gethostname())}\b", text)
    assert not re.search(r'"/|[^a-z]/(home|root|work|tmp|usr)/', text)
    assert f'"{getpass.getuser()}"' not in text


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=tmp_path, check=True)

    git("init", "--quiet")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "--quiet", "--message", "one")
    return tmp_path


def test_the_commit_is_told_and_changed_files_are_marked(repository: Path) -> None:
    clean = git_commit(repository)
    assert clean is not None
    assert re.fullmatch(r"[0-9a-f]{40}", clean)
    git_commit.cache_clear()
    (repository / "file").write_text("two")
    assert git_commit(repository) == clean + "+"


def test_outside_a_repository_there_is_no_commit(tmp_path: Path) -> None:
    assert git_commit(tmp_path) is None
