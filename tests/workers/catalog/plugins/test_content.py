"""A lab's own file that changes while a process holds its code."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers.catalog.plugins.examples import good, write
from workers.catalog import load_catalog
from workers.catalog.component import Component
from workers.catalog.plugins import StalePluginError, has_changed, plugin_components, require_unchanged
from workers.catalog.plugins.content import content_digest

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


IMPORTING = {
    "in build": good("own") + "\n    def other(self):\n        from ._helper import value\n",
    "by the package": "from . import _helper\n" + good("own"),
    "through another": "from ._between import value\n" + good("own"),
    "of an installed package": "try:\n    from lab._helper import value\nexcept ImportError: ...\n" + good("own"),
    "by a text": "import importlib\n" + good("own"),
}


@pytest.mark.parametrize("text", IMPORTING.values(), ids=IMPORTING)
def test_private_files_that_it_imports_count_and_others_do_not(folder: Path, text: str) -> None:
    write(folder, "own.py", text)
    write(folder, "_helper.py", "value = 1")
    write(folder, "_between.py", "from ._helper import value")
    write(folder, "neighbour.py", good("neighbour"))
    components, problems = plugin_components(BUILT_IN)
    neighbour, own = components
    assert (neighbour.name, own.name, problems) == ("neighbour", "own", [])

    write(folder, "_helper.py", "value = 2")

    assert (has_changed(own), has_changed(neighbour)) == (True, False)


def test_a_helper_that_comes_later_counts_from_then_on(folder: Path) -> None:
    write(folder, "own.py", IMPORTING["in build"])
    component = read_only_component()
    write(folder, "_other.py", "value = 1")
    assert not has_changed(component)
    write(folder, "_helper.py", "value = 1")
    assert has_changed(component)


def test_a_new_file_of_a_package_counts(folder: Path) -> None:
    write(folder, "own/__init__.py", good("own"))
    component = read_only_component()
    write(folder, "own/more.py", "value = 1")
    assert has_changed(component)


def test_an_edit_of_one_helper_leaves_the_identity_of_its_neighbours(folder: Path) -> None:
    """SHA-256 of the file and, for each private file that it imports, name and content: as it was for one helper."""
    for name in ("one", "two"):
        write(folder, f"{name}.py", f"from . import _{name}\n{good(name)}")
        write(folder, f"_{name}.py", "value = 1")
    one, two = plugin_components(BUILT_IN)[0]
    own = f"from . import _one\n{good('one')}_one.pyvalue = 1"

    assert one.digest == hashlib.sha256(own.encode()).hexdigest()[:12]
    write(folder, "_two.py", "value = 2")
    assert content_digest(folder / "one.py") == one.digest
    assert content_digest(folder / "two.py") != two.digest


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
