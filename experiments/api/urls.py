from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.urls import URLPattern, path
from ninja import NinjaAPI

from experiments.api import data, export, lab, runs, studies
from experiments.api.auth import session
from experiments.api.errors import add_error_handlers
from experiments.api.health import health

api = NinjaAPI(
    title="Tributary",
    version="1",
    urls_namespace="api",
    description="Launch grids of federated-learning experiments, follow them, and take every number with you.",
    auth=[session],
)
api.add_router("/studies", studies.router)
api.add_router("/runs", runs.router)
api.add_router("", lab.router)
api.add_router("", data.router)
api.add_router("", export.router)
add_error_handlers(api)

PAGES = {"openapi-json", "openapi-view", "api-root"}
mounted = api.urls
for pattern in mounted[0]:
    # Routes refuse strangers themselves, with 401 instead of a redirect to the log-in page.
    if isinstance(pattern, URLPattern) and pattern.name not in PAGES:
        login_not_required(pattern.callback)

urlpatterns = [path("healthz", health, name="healthz"), path("api/v1/", mounted)]
