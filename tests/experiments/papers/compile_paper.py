"""`make integration`: a two-column paper with a downloaded figure and a downloaded table, compiled by pdflatex.

Not named as a test, because TeX is too large for `make test`. The page stays in `build/paper/`, as PDF and picture.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.test import Client

from experiments.models import Study, User
from tests.experiments import lab

HERE = Path(__file__).parent
FOLDER = HERE.parents[2] / "build" / "paper"
STRATEGIES = [{"name": "fedavg"}, {"name": "fedprox", "mu": [0.01, 0.1]}, {"name": "scaffold"}]
PARTITIONS = [{"name": "iid"}, {"name": "label-dirichlet", "alpha": [0.1, 0.5, 1.0]}]


@pytest.fixture
def study(owner: User) -> Study:
    """Four methods in four partitions with five seeds, accuracies written by hand."""
    made = lab.launched(owner, "Four methods", strategy=STRATEGIES, partition=PARTITIONS, seeds=5)
    for place, run in enumerate(lab.runs_in_order(made)):
        cell, seed = divmod(place, 5)
        lab.record(run, {"accuracy": [0.1, 0.6, 0.8 + cell % 4 / 40 + cell // 4 / 100 + seed / 500]})
    return made


@pytest.mark.parametrize("width", ["column", "text"])
def test_a_two_column_paper_takes_the_figure_and_the_table_as_they_are(
    as_owner: Client, study: Study, width: str
) -> None:
    folder = FOLDER / width
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(HERE / "paper.tex", folder)
    view = {"study": study.pk, "against": "partition.alpha", "band": "ci"}
    query = {**view, "paper_width": width, "paper_font": "modern"}
    for address in ("charts/against.pdf", "charts/against.tex", "tables/values.tex"):
        answer = as_owner.get(f"/compare/{address}", query)
        name = re.search(r'filename="([^"]+)"', answer.headers["Content-Disposition"])
        assert name is not None
        (folder / name[1]).write_bytes(answer.content)

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
    for words in ("Figure 1", "Table 1", "n = 5 seeds", "Test accuracy at the last round, %", "fedavg"):
        assert words.lower() in " ".join(text.split()).lower(), words
    fonts = subprocess.run(["pdffonts", "paper.pdf"], cwd=folder, capture_output=True, text=True).stdout.splitlines()[
        2:
    ]
    assert fonts
    assert all(" yes " in font for font in fonts), "every font is embedded"
    subprocess.run(["pdftoppm", "-png", "-r", "110", "-f", "1", "-l", "1", "paper.pdf", "page"], cwd=folder, check=True)
