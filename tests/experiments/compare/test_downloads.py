from __future__ import annotations

import csv
from io import StringIO

from django.test import Client

from experiments.models import Study


def rows(client: Client, address: str, **query: object) -> list[dict[str, str]]:
    answer = client.get(address, query)
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(StringIO(answer.content.decode())))


def test_the_numbers_behind_the_curves_are_those_stored(as_owner: Client, study: Study) -> None:
    points = rows(as_owner, "/compare/charts/curves.csv", study=study.pk)
    assert [(row["strategy"], row["round"], row["mean"], row["n"]) for row in points] == [
        ("fedavg", "0", "0.1", "3"),
        ("fedavg", "1", "0.5", "3"),
        ("fedavg", "2", "0.9", "3"),
        ("fedprox · mu 0.1", "0", "0.1", "1"),
        ("fedprox · mu 0.1", "1", "0.4", "1"),
    ]


def test_the_table_as_csv_latex_and_markdown(as_owner: Client, study: Study) -> None:
    """A run of fedprox failed, the others are under way."""
    fedavg, fedprox = rows(as_owner, "/compare/charts/table.csv", study=study.pk)
    assert (fedavg["strategy"], round(float(fedavg["mean"]), 12), fedavg["n"]) == ("fedavg", 0.9, "3")
    assert (fedprox["mean"], fedprox["n"], fedprox["lost"], fedprox["missed"]) == ("", "0", "0", "1")
    latex = as_owner.get("/compare/tables/values.tex", {"study": study.pk})
    assert r"FedAvg & $90.00 \pm 10.00$ \\" in latex.content.decode()
    assert r"FedProx ($\mu$ = 0.1) & -- (n=0, 1 missing) \\" in latex.content.decode()
    assert latex.headers["Content-Disposition"] == 'attachment; filename="table-values.tex"'
    markdown = as_owner.get("/compare/tables/values.md", {"study": study.pk}).content.decode()
    assert "| FedAvg | 90.00 ± 10.00 |" in markdown
