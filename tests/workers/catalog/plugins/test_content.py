"""A lab's own file that changes while a process holds its code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers.catalog.plugins.examples import good, write
from workers.catalog import load_catalog
from workers.catalog.component import Component
from workers.catalog.plugins import StalePluginError, has_changed, plugin_components, require_unchanged

BUILT_IN = load_catalog().components


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIBUTARY_PLUGINS", str(tmp_path))
    return tmp_path


def read_only_component() -> Component:
    (component,), problems = plugin_components(BUILT_IN)
    assert problems == []
    return component


def test_an_edited_file_is_noticed_and_mended_by_its_old_content(folder: Path) -> None:
    file = write(folder, "own.py", good("own"))
    component = read_only_component()
    assert not has_changed(component)
    write(folder, "own.py", good("own").replace("never built", "built often"))
    assert has_changed(component)
    with pytest.raises(StalePluginError) as refusal:
        require_unchanged(component, "strategy")
    (problem,) = refusal.value.errors
    assert problem.path == "strategy"
    assert problem.message == f"Restart Tributary: {file}, or a file that it needs, changed after it was read."
    write(folder, "own.py", good("own"))
    assert not has_changed(component)


def test_a_file_that_is_only_touched_has_not_changed(folder: Path) -> None:
    file = write(folder, "own.py", good("own"))
    component = read_only_component()
    os.utime(file, (1, 1))
    assert not has_changed(component)


@pytest.mark.parametrize("name", ["_helper.py", "_new.py"])
def test_private_files_beside_it_count(folder: Path, name: str) -> None:
    write(folder, "own.py", good("own"))
    write(folder, "_helper.py", "value = 1")
    component = read_only_component()
    write(folder, name, "value = 2")
    assert has_changed(component)


def test_a_file_that_is_gone_has_changed(folder: Path) -> None:
    file = write(folder, "own.py", good("own"))
    component = read_only_component()
    file.unlink()
    assert has_changed(component)


def test_a_public_file_that_it_imports_is_part_of_its_content(folder: Path) -> None:
    """It has a component of its own, so it is no helper by its name."""
    write(folder, "base.py", good("base"))
    write(folder, "own.py", "from .base import Base\nclass Own(Base):\n    name = 'own'\n    label = 'Own'\n")
    components, problems = plugin_components(BUILT_IN)
    base, own = components
    assert (base.name, own.name, problems) == ("base", "own", [])
    write(folder, "base.py", good("base").replace("never built", "built often"))
    assert has_changed(own)


def test_what_no_component_imports_leaves_the_digest_as_it_was(folder: Path) -> None:
    """SHA-256 of the file's content alone, as before files that are imported counted."""
    import hashlib

    write(folder, "own.py", good("own"))
    write(folder, "notes.txt", "nothing")
    assert read_only_component().digest == hashlib.sha256(good("own").encode()).hexdigest()[:12]


def test_two_edits_in_one_second_of_the_same_size_are_two(folder: Path) -> None:
    """Python takes what it compiled before for current while second and size of the file are the same."""
    file = write(folder, "own.py", good("own"))

    def label_in_a_process() -> str:
        os.utime(file, (1_000_000_000, 1_000_000_000))
        script = "from workers.catalog import load_catalog; print(load_catalog().strategies['own'].label)"
        environment = {"TRIBUTARY_PLUGINS": str(folder), "PYTHONPATH": str(Path(__file__).resolve().parents[4])}
        return subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
        ).stdout.strip()

    assert label_in_a_process() == "Own"
    file.write_text(file.read_text().replace('label = "Own"', 'label = "Two"'))
    assert label_in_a_process() == "Two"
