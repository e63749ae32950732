"""`make integration`: a two-column paper with a downloaded figure and a downloaded table, compiled by pdflatex.

Not named as a test, because TeX is too large for `make test`. The page stays in `build/paper/`, as PDF and picture.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from django.test import Client

from experiments.models import Study, User
from tests.experiments import lab
from workers.engine import simulate
from workers.spec import expand

HERE = Path(__file__).parent
FOLDER = HERE.parents[2] / "build" / "paper"
DATA_SETS = ("digits", "blobs")
GRID: dict[str, Any] = {
    "strategy": [{"name": "fedavg"}, {"name": "fedprox", "mu": 0.1}, {"name": "scaffold"}, {"name": "fedadam"}],
    "partition": [{"name": "iid"}, {"name": "label-dirichlet", "alpha": [0.1, 0.3, 1.0]}],
    "local": {"optimizer": {"name": "sgd", "lr": 0.1}},
    "clients": 10,
    "rounds": 8,
    "seeds": 3,
}


@pytest.fixture(scope="module")
def histories() -> dict[str, list[float]]:
    """A real comparison: accuracies of four methods in four partitions of two data sets, by the hash of the run."""
    found: dict[str, list[float]] = {}
    for name in DATA_SETS:
        for planned in expand([{**lab.BLOCK, **GRID, "dataset": {"name": name}}]).runs:
            found[planned.hash] = [record.metrics["accuracy"] for record in simulate(planned.spec).history]
    return found


@pytest.fixture
def studies(owner: User, histories: dict[str, list[float]]) -> list[Study]:
    made = [lab.launched(owner, f"Four methods on {name}", dataset={"name": name}, **GRID) for name in DATA_SETS]
    for run in (run for study in made for run in study.runs.all()):
        lab.record(run, {"accuracy": histories[run.hash]})
    return made


@pytest.mark.parametrize("width", ["column", "text"])
def test_a_two_column_paper_takes_the_figure_and_the_table_as_they_are(
    as_owner: Client, studies: list[Study], histories: dict[str, list[float]], width: str
) -> None:
    folder = FOLDER / width
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(HERE / "paper.tex", folder)
    view = {"study": [study.pk for study in studies], "against": "partition.alpha", "band": "ci"}
    query = {**view, "paper_width": width, "paper_font": "modern"}
    for address in ("charts/against.pdf", "charts/against.tex", "tables/values.tex"):
        answer = as_owner.get(f"/compare/{address}", query)
        name = re.search(r'filename="([^"]+)"', answer.headers["Content-Disposition"])
        assert name is not None
        (folder / name[1]).write_bytes(answer.content)
    first = [histories[run.hash][-1] for run in lab.runs_in_order(studies[0])[:3]]
    assert f"{100 * mean(first):.2f} \\pm {100 * stdev(first):.2f}" in (folder / "table-values.tex").read_text()

    for _ in range(2):
        latex = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
            cwd=folder,
            capture_output=True,
            text=True,
            errors="replace",
        )
    assert latex.returncode == 0, latex.stdout[-2000:]
    assert "undefined" not in latex.stdout
    too_wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", latex.stdout)]
    assert max(too_wide, default=0) < 2, "figure, table and caption stay inside their columns"

    text = subprocess.run(["pdftotext", "paper.pdf", "-"], cwd=folder, capture_output=True, text=True).stdout
    for words in ("Figure 1", "Table 1", "n = 3 seeds", "Test accuracy at the last round, %", "FedAvg", "Digits"):
        assert words in " ".join(text.split()), words
    fonts = subprocess.run(["pdffonts", "paper.pdf"], cwd=folder, capture_output=True, text=True).stdout.splitlines()[
        2:
    ]
    assert fonts
    assert all(" yes " in font for font in fonts), "every font is embedded"
    subprocess.run(["pdftoppm", "-png", "-r", "110", "-f", "2", "-l", "2", "paper.pdf", "page"], cwd=folder, check=True)
