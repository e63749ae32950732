"""`workers.plugin`: every name it promises, from where it is defined, and torch only where it is needed."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from workers import plugin

ORIGINS = {
    alias.name: statement.module
    for statement in ast.walk(ast.parse(Path(plugin.__file__).read_text(encoding="utf-8")))
    if isinstance(statement, ast.ImportFrom) and statement.module and statement.module.startswith("workers.")
    for alias in statement.names
}


def test_it_promises_what_it_imports() -> None:
    assert sorted(ORIGINS) == sorted(plugin.__all__)


@pytest.mark.parametrize("name", plugin.__all__)
def test_each_name_is_what_its_module_has(name: str) -> None:
    assert getattr(plugin, name) is getattr(importlib.import_module(ORIGINS[name]), name)


def test_it_has_no_other_names() -> None:
    with pytest.raises(AttributeError, match=r"module 'workers.plugin' has no attribute 'Methods'"):
        plugin.Methods  # noqa: B018


def test_what_declares_a_component_needs_no_torch() -> None:
    script = (
        "import sys; from workers.plugin import Strategy, Model, Partition, Dataset, Optimizer, Parameters, stream;"
        "before = [name for name in ('torch', 'flwr', 'ray') if name in sys.modules];"
        "from workers.plugin import Method; print(before, 'torch' in sys.modules)"
    )
    printed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert printed == "[] True\n"
