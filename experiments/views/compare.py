"""Compare: cells of any studies in one chart and one table. Every choice is in the address, so a link is a view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from experiments.charts.curves import BANDS
from experiments.charts.metrics import in_reading_order, metric_label
from experiments.charts.pivot import pivot_info
from experiments.charts.styles import styles
from experiments.models import Study
from experiments.selectors.cells import Cell, cells_of, measured
from experiments.selectors.statistics import curve_statistics, final_statistics
from experiments.selectors.studies import study_rows
from experiments.views.figures import band_in, curves_answer, drawn, metric_in
from experiments.views.parts import whole_number

MOST_STUDIES = 20


def chosen_studies(request: HttpRequest) -> list[int]:
    numbers = [whole_number(text, 0) for text in request.GET.getlist("study")]
    return list(dict.fromkeys(number for number in numbers if number))[:MOST_STUDIES]


def compare(request: HttpRequest) -> HttpResponse:
    studies, metric = chosen_studies(request), metric_in(request)
    cells = cells_of(studies=studies)
    finals = final_statistics(studies=studies, metric=metric)
    specs = {cell.key: cell.spec for cell in cells}
    context = {
        "rows": study_rows(search=request.GET.get("q", "").strip()),
        "chosen": studies,
        "metric": metric_label(metric),
        "metrics": [metric_label(name) for name in in_reading_order(measured(cells))],
        "band": band_in(request),
        "bands": BANDS,
        "pivot": pivot_info(specs, finals, request.GET.get("across", ""), source_names(cells)),
        "best": best_of([found.mean for found in finals.values()], metric),
        "runs": sum(cell.seeds for cell in cells),
        "query": request.GET.urlencode(),
    }
    return render(request, "pages/compare.html", context)


def source_names(cells: Sequence[Cell]) -> dict[str, str]:
    """The study of each cell by name; studies of one name are told apart by their number."""
    names = dict(Study.objects.filter(pk__in={cell.study for cell in cells}).values_list("pk", "name"))
    doubled = {name for name, times in Counter(names.values()).items() if times > 1}
    told = {pk: f"{name} (study {pk})" if name in doubled else name for pk, name in names.items()}
    return {cell.key: told[cell.study] for cell in cells}


def best_of(means: list[float | None], metric: str) -> float | None:
    found = [mean for mean in means if mean is not None]
    if len(found) < 2:
        return None
    return max(found) if metric_label(metric).higher_is_better else min(found)


def compare_figure(request: HttpRequest) -> JsonResponse:
    studies, metric = chosen_studies(request), metric_in(request)
    cells = cells_of(studies=studies)
    looks = styles({cell.key: cell.spec for cell in cells}, source_names(cells))
    shown = {cell.key: looks[cell.key] for cell in drawn(cells)}
    points = curve_statistics(studies=studies, metric=metric, cells=list(shown))
    return curves_answer(points, shown, metric=metric, band=band_in(request), cells=len(cells))
