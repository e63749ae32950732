"""Strategies of a lab's own as its files have them, in the place of FedAvg's: the catalog itself stays as it is."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.workers.catalog.plugins.examples import write, write_documented
from workers.catalog import load_catalog
from workers.catalog.component import Component
from workers.catalog.plugins import PluginProblem, plugin_components
from workers.strategies.fedavg import FedAvg

BUILT_IN = load_catalog().components
HEAD = "from workers.plugin import SimpleStrategy, last_layers, norm_layers, param\n"


class OwnStrategies:
    """Reads files; `use` makes one the strategy that `{"name": "fedavg"}` runs."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch = folder, monkeypatch
        monkeypatch.setenv("TRIBUTARY_PLUGINS", str(folder))

    def read(self) -> tuple[dict[str, Component], list[PluginProblem]]:
        components, problems = plugin_components(BUILT_IN)
        return {each.name: each for each in components}, problems

    def documented(self, name: str) -> Any:
        write_documented(self.folder)
        components, problems = self.read()
        assert problems == []
        return components[name]

    def written(self, body: str) -> Any:
        """The strategy `Own` of that body."""
        write(self.folder, "own.py", HEAD + "class Own(SimpleStrategy):\n" + textwrap.indent(body, "    "))
        components, problems = self.read()
        assert problems == []
        return components["own"]

    def fault(self, body: str) -> str:
        """Why such a class is left out."""
        write(self.folder, "own.py", HEAD + "class Own(SimpleStrategy):\n" + textwrap.indent(body, "    "))
        components, (problem,) = self.read()
        assert components == {}
        return problem.message

    def use(self, strategy: Any, **params: Any) -> None:
        chosen = strategy.Params(**params)
        self.monkeypatch.setattr(FedAvg, "build", lambda self, _, context: strategy.build(chosen, context))
