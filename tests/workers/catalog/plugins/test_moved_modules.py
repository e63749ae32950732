"""Plugins that were written before modules moved: they load and compute, and are told the new places."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.workers.catalog.plugins.examples import write, write_documented
from tests.workers.catalog.plugins.test_running import curve, events
from workers.catalog import load_catalog
from workers.catalog.plugins import plugin_components
from workers.catalog.plugins.moved_modules import MOVED_MODULES, MOVED_NAMES, RENAMED, find_moved_modules
from workers.home import ROOT

OLD_IMPORTS = {
    "from workers.plugin import Parameters, Strategy": "from workers.component import Parameters, Strategy",
    "from workers.plugin import Method, MethodContext": "from workers.engine.method import Method, MethodContext",
    "        from workers.plugin import Method\n": "        from workers.engine.method import Method\n",
    "from workers.plugin import ARRAYS, Averaging, MethodContext, Tensors, array_record, tensor_of, weights_of": (
        "from workers.engine.arrays import Tensors, tensor_of\n"
        "from workers.engine.method import MethodContext\n"
        "from workers.engine.names import ARRAYS\n"
        "from workers.engine.server import Averaging, array_record, weights_of"
    ),
    "from workers.plugin import Partition, PartitionInput": "from workers.component import Partition, PartitionInput",
    "from workers.plugin import Model, Shape, elements": "from workers.component import Model, Shape, elements",
    "from workers.plugin import Arrays, Dataset, DatasetFacts": (
        "from workers.component import Arrays, Dataset, DatasetFacts"
    ),
}
"""What the page shows now, and what it showed when modules lay elsewhere."""


def write_old_plugins(folder: Path) -> None:
    unused = set(OLD_IMPORTS)
    for name in write_documented(folder):
        text = (folder / name).read_text(encoding="utf-8")
        if "SimpleStrategy" in text:  # younger than the move
            (folder / name).unlink()
            continue
        for new, old in OLD_IMPORTS.items():
            if new in text:
                unused.discard(new)
                text = text.replace(new, old)
        assert "workers.plugin" not in text
        write(folder, name, text)
    assert unused == set()


@pytest.fixture
def unloaded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Old names as a new process finds them: nothing is loaded under them."""
    find_moved_modules()
    for name in MOVED_MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in MOVED_MODULES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("old", MOVED_MODULES)
def test_every_new_place_exists_and_no_old_one_does(old: str) -> None:
    new = find_spec(MOVED_MODULES[old])
    assert new is not None
    assert new.origin is not None
    assert not (ROOT / f"{old.replace('.', '/')}.py").exists()
    assert not (ROOT / old.replace(".", "/") / "__init__.py").exists()


@pytest.mark.parametrize(("old", "name"), [(old, name) for old, names in RENAMED.items() for name in names])
@pytest.mark.usefixtures("unloaded")
def test_a_renamed_thing_has_its_old_name_in_the_old_place(old: str, name: str) -> None:
    with pytest.warns(DeprecationWarning, match=old):
        module = importlib.import_module(old)
    assert getattr(module, name) is getattr(importlib.import_module(MOVED_MODULES[old]), RENAMED[old][name])


@pytest.mark.parametrize(
    ("package", "name"), [(package, name) for package, names in MOVED_NAMES.items() for name in names]
)
def test_a_package_that_was_a_module_still_has_its_names(package: str, name: str) -> None:
    new = MOVED_NAMES[package][name]
    with pytest.warns(DeprecationWarning, match=f"{package}.{name} has moved to {new}.{name};"):
        thing = getattr(importlib.import_module(package), name)
    assert thing is getattr(importlib.import_module(new), name)


def test_such_a_package_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match=r"module 'workers.engine.server' has no attribute 'anything'"):
        importlib.import_module("workers.engine.server").anything  # noqa: B018


@pytest.mark.usefixtures("unloaded")
def test_an_old_plugin_is_taken_and_warned_at_its_own_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_old_plugins(tmp_path)
    monkeypatch.setenv("TRIBUTARY_PLUGINS", str(tmp_path))
    with pytest.warns(DeprecationWarning, match="workers.component has moved") as warnings:
        components, problems = plugin_components(load_catalog().components)
    assert problems == []
    assert [each.name for each in components] == ["stripes", "mlp-16", "dealt", "fedclip"]
    assert {(str(each.message), Path(each.filename).name, each.lineno) for each in warnings} == {
        (
            "workers.component has moved to workers.catalog.component; "
            "what plugins need is in workers.plugin, which stays.",
            "stripes.py",
            7,
        )
    }


def test_old_names_load_nothing_heavy(tmp_path: Path) -> None:
    write_old_plugins(tmp_path)
    script = (
        "import sys; from workers.catalog import load_catalog; assert 'fedclip' in load_catalog().strategies;"
        "print([name for name in ('torch', 'flwr', 'ray', 'workers.engine.server.method') if name in sys.modules])"
    )
    printed = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "TRIBUTARY_PLUGINS": str(tmp_path), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed == "[]\n"


def test_an_old_plugin_computes_as_a_new_one(tmp_path: Path) -> None:
    write_old_plugins(tmp_path / "old")
    write_documented(tmp_path / "new")
    strategy = {"name": "fedclip", "bound": 0.5}
    old, new = events(tmp_path / "old", strategy), events(tmp_path / "new", strategy)
    assert curve(old, "loss") == curve(new, "loss")
    assert len(curve(old, "fedclip.clipped")) == 3
