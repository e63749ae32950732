from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from experiments.selectors.studies import PAGE, lab_counts, study_rows, study_to_watch
from experiments.views.parts import page_or_part, whole_number


def studies(request: HttpRequest) -> HttpResponse:
    search = request.GET.get("q", "").strip()
    rows = study_rows(search=search, before=whole_number(request.GET.get("before"), 0) or None)
    context = {
        "rows": rows,
        "search": search,
        "counts": lab_counts(),
        "more": rows[-1].study.pk if len(rows) == PAGE else None,
        "watched": study_to_watch(),
    }
    return page_or_part(request, "pages/studies.html", "parts/home_live.html", context)
