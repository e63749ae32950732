from __future__ import annotations

import getpass
import json
import re
import socket
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from workers.engine.provenance import commit, cpu_model, provenance


def test_it_tells_versions_path_device_and_seconds() -> None:
    found = provenance(engine="cohort", device="cpu", seconds=1.5)
    assert (found["engine"], found["device"], found["seconds"]) == ("cohort", "cpu", 1.5)
    assert found["packages"]["torch"] == version("torch")
    assert found["packages"]["flwr"] == version("flwr")
    assert re.fullmatch(r"3\.\d+\.\d+", found["python"])
    assert found["threads"] >= 1
    assert found["cpu"] == found["device_name"] != ""


def test_it_is_json_and_names_no_host_person_or_folder() -> None:
    text = json.dumps(provenance(engine="cohort", device="cpu", seconds=0.1))
    assert socket.gethostname() not in text
    assert not re.search(r'"/|[^a-z]/(home|root|work|tmp|usr)/', text)
    assert f'"{getpass.getuser()}"' not in text


def test_the_cpu_model_is_read_from_the_system(tmp_path: Path) -> None:
    source = tmp_path / "cpuinfo"
    source.write_text("processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nmodel name\t: Some CPU @ 2.0GHz\n")
    assert cpu_model(source) == "Some CPU @ 2.0GHz"


def test_a_system_without_that_file_still_has_a_name(tmp_path: Path) -> None:
    assert cpu_model(tmp_path / "absent") != ""


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
    clean = commit(repository)
    assert clean is not None
    assert re.fullmatch(r"[0-9a-f]{40}", clean)
    commit.cache_clear()
    (repository / "file").write_text("two")
    assert commit(repository) == clean + "+"


def test_outside_a_repository_there_is_no_commit(tmp_path: Path) -> None:
    assert commit(tmp_path) is None
