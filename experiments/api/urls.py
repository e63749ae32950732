from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from experiments.api import audit, data, export, lab, runs, studies, summary
from experiments.api.auth import AUTH
from experiments.api.docs import open_to_readers
from experiments.api.errors import MISSING, add_error_handlers, refusal
from experiments.api.health import health
from experiments.api.site import LabAPI

api = LabAPI(
    title="Tributary",
    version="1",
    urls_namespace="api",
    description="Launch grids of federated-learning experiments, follow them, and take every number with you.",
    auth=AUTH,
    docs_decorator=open_to_readers,
)
api.add_router("/studies", studies.router)
api.add_router("/studies", summary.router)
api.add_router("/runs", runs.router)
api.add_router("", lab.router)
api.add_router("", data.router)
api.add_router("", export.router)
api.add_router("", audit.router)
add_error_handlers(api)


@csrf_exempt
def nothing_here(request: HttpRequest, rest: str = "") -> HttpResponse:
    return refusal(404, MISSING)


mounted = api.urls
for pattern in mounted[0]:
    # Routes refuse strangers themselves, with 401 instead of a redirect to the log-in page.
    if isinstance(pattern, URLPattern):
        login_not_required(pattern.callback)

urlpatterns = [
    path("healthz", health, name="healthz"),
    path("api/v1/", mounted),
    path("api/<path:rest>", login_not_required(nothing_here)),
]
