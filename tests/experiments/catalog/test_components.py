"""Who finds what wrong with a lab's own components."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.catalog.selectors import component_problems
from experiments.models import Worker
from tests.workers.catalog.plugins.examples import good, write
from workers.catalog import Catalog, load_catalog
from workers.catalog.plugins import PluginProblem, plugin_components

BUILT_IN = load_catalog()


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """One strategy of the lab's own, and a file that is wrong."""
    monkeypatch.setenv("TRIBUTARY_PLUGINS", str(tmp_path))
    write(tmp_path, "mine.py", good("mine"))
    (mine,), _ = plugin_components(BUILT_IN.components)
    return Catalog({**BUILT_IN.components, "strategy": {"mine": mine}}, [PluginProblem("own.py", "It is wrong.")])


def worker(name: str, **facts: object) -> Worker:
    return Worker(name=name, facts=facts)


def test_without_components_of_its_own_a_lab_has_no_problems() -> None:
    assert component_problems([worker("old"), worker("new", plugins={}, problems=[])], BUILT_IN) == {}


def test_a_problem_is_told_once_with_all_who_have_it(own: Catalog) -> None:
    same = worker("same", plugins=own.plugin_stamps, problems=["own.py: It is wrong."])
    alone = worker("alone", plugins=own.plugin_stamps, problems=["other.py: It is wrong, too."])

    assert component_problems([same, alone], own) == {
        "own.py: It is wrong.": ["web server", "same"],
        "other.py: It is wrong, too.": ["alone"],
    }


def test_a_worker_with_other_files_is_told(own: Catalog) -> None:
    lacking = worker("lacking", plugins={})
    older = worker("older", plugins={"strategy mine": "1+000000000000"})
    further = worker("further", plugins={**own.plugin_stamps, "model huge": "2+abc"})

    problems = component_problems([lacking, older, further], own)

    assert problems == {
        "own.py: It is wrong.": ["web server"],
        "The strategy mine is not on this worker: copy its file there, then start the worker again.": ["lacking"],
        "The strategy mine has other code than on the web server: copy its file, then start both again.": ["older"],
        "The model huge is not on the web server: copy its file there, then start it again.": ["further"],
    }
