"""A data set of the lab's own that was sound when it was read, and fails later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.workers.catalog.plugins.examples import FRAGILE, write
from workers.catalog import Catalog, load_catalog
from workers.catalog.component import Dataset
from workers.catalog.plugins import dataset_failures, plugin_components
from workers.catalog.plugins.watch import PluginDataError

BUILT_IN = load_catalog().components


@pytest.fixture
def switch(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "switch"
    dataset_failures.clear()


@pytest.fixture
def catalog(tmp_path: Path, switch: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    monkeypatch.setenv("TRIBUTARY_PLUGINS", str(tmp_path / "components"))
    write(tmp_path / "components", "datasets/fragile.py", FRAGILE.format(switch=switch))
    (dataset,), problems = plugin_components(BUILT_IN)
    assert problems == []
    return Catalog({**BUILT_IN, "dataset": {"fragile": dataset}})


@pytest.fixture
def fragile(catalog: Catalog) -> Dataset:
    return catalog.datasets["fragile"]


@pytest.mark.parametrize("question", ["facts", "checksum", "editions", "loads_at_once", "available"])
def test_what_was_known_is_answered_and_the_problem_told(
    question: str, catalog: Catalog, fragile: Dataset, switch: Path
) -> None:
    (params,) = fragile.editions()
    before = (fragile.facts(params), fragile.checksum(params), fragile.loads_at_once(params), fragile.editions())
    assert (fragile.available(params), catalog.problems) == (None, [])
    switch.write_text(question)
    after = (fragile.facts(params), fragile.checksum(params), fragile.loads_at_once(params), fragile.editions())
    assert after == before
    reason = f"{fragile.origin}: {question}() failed. ValueError: the disk has gone, line 10 of fragile.py."
    assert fragile.available(params) == f"Mend it first. {reason}"
    assert [str(problem) for problem in catalog.problems] == [reason]
    switch.unlink()
    catalog.check_plugin_datasets()
    assert fragile.loads_at_once(params) is True
    assert (fragile.available(params), catalog.problems) == (None, [])


def test_a_load_that_fails_says_where_and_may_be_tried_again(catalog: Catalog, fragile: Dataset, switch: Path) -> None:
    params = fragile.Params()
    switch.write_text("load")
    with pytest.raises(PluginDataError, match=r"load\(\) failed. ValueError: the disk has gone, line 10 of fragile.py"):
        fragile.load_for_run(params)
    assert len(catalog.problems) == 1
    assert fragile.available(params) is None
    switch.unlink()
    assert len(fragile.load_for_run(params).train_y) == 8
    assert catalog.problems == []


def test_whoever_looks_for_problems_asks_first(catalog: Catalog, switch: Path) -> None:
    switch.write_text("facts checksum")
    assert catalog.problems == []
    catalog.check_plugin_datasets()
    assert [problem.message.partition("(")[0] for problem in catalog.problems] == ["checksum", "facts"]
