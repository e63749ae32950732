from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from experiments.selectors.datasets import dataset_rows


def datasets(request: HttpRequest) -> HttpResponse:
    return render(request, "pages/datasets.html", {"rows": dataset_rows()})
