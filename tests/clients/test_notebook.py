"""The example notebook, executed: launch, wait, tables and charts, a PyTorch loop of one's own, both on one page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
import pytest
from django.test import Client
from nbclient import NotebookClient
from tributary import Connection

from experiments.models import Metric, Run, RunState, Study, User

CLIENT = Path(__file__).parents[2] / "clients" / "python"
NOTEBOOK = CLIENT / "examples" / "study_and_own_loop.ipynb"


def outputs(cell: Any) -> dict[str, str]:
    """What a cell shows, by its kind."""
    shown: dict[str, str] = {}
    for each in cell.outputs:
        shown |= dict(each.data) if "data" in each else {each.name: shown.get(each.name, "") + each.text}
    return shown


def test_the_notebook_runs_and_shows_the_labs_study_beside_the_loop(
    lab: Connection, researcher: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRIBUTARY_URL", lab.login.address)
    monkeypatch.setenv("TRIBUTARY_TOKEN", lab.login.token)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CLIENT / "src"), os.environ["PYTHONPATH"]]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    launched, table, summary, _, compared, address = (
        outputs(cell) for cell in notebook.cells if cell.cell_type == "code"
    )

    # Waiting shows a bar that ends full; the study shows itself with its table and a line for each cell.
    assert launched["stderr"].splitlines()[-1].endswith("] 4/4 4 done   ")
    assert "4 done" in launched["text/html"]
    assert launched["text/html"].count("<polyline") == 2
    study, own = Study.objects.get(name="From a notebook"), Study.objects.get(name="My own FedAvg")
    final = Metric.objects.filter(run__studies=study, name="accuracy", round=8, run__spec__strategy__name="fedavg")
    mean = sum(each.value for each in final) / 2
    assert f"{mean:.6f}" in table["text/html"]
    assert f"{mean:.6f}" in summary["text/html"]

    assert set(own.runs.values_list("state", "rounds_done", "seed")) == {(RunState.DONE, 8, 0), (RunState.DONE, 8, 1)}
    assert "torch" in Run.objects.filter(studies=own)[0].provenance["logged"]
    theirs = Metric.objects.filter(run__studies=own, name="accuracy", round=8)
    # Four clients of the same data, model and training: another draw of the same experiment.
    assert abs(sum(each.value for each in theirs) / 2 - mean) < 0.03
    assert f"{mean:.4g}" in compared["text/html"]
    assert "2 of the runs were logged, not computed here" in compared["text/html"]

    page = urlsplit(address["text/plain"].strip("'"))
    browser = Client()
    browser.force_login(researcher)
    shown = browser.get(f"{page.path}?{page.query}")
    assert shown.status_code == 200
    curves = browser.get(f"/api/v1/compare/curves?{page.query}").json()
    at = {name: curves["columns"].index(name) for name in ("strategy", "round", "n")}
    last = {(row[at["strategy"]], row[at["n"]]) for row in curves["rows"] if row[at["round"]] == 8}
    assert last == {("fedavg", 2), ("fedprox · mu 0.1", 2), ("notebook", 2)}
    assert page.query == f"study={study.pk}&study={own.pk}&metric=accuracy"
