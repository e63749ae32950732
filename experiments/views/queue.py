from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from experiments.selectors.runs import QUEUE_LIMIT, queue_counts, queue_rows
from experiments.selectors.workers import pulse
from experiments.services.rights import may_manage
from experiments.views.parts import page_or_part
from experiments.views.people import person


def queue_page(request: HttpRequest) -> HttpResponse:
    actor = person(request)
    context = {
        "rows": [(row, all(may_manage(actor, study) for study in row.studies)) for row in queue_rows()],
        "counts": queue_counts(),
        "limit": QUEUE_LIMIT,
        "pulse": pulse(),
    }
    return page_or_part(request, "pages/queue.html", "parts/queue_rows.html", context)
