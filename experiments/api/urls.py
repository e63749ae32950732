from __future__ import annotations

from django.urls import URLPattern, path

from experiments.api import audit, comparisons, data, export, lab, presets, runs, studies, summary
from experiments.api.auth import AUTH
from experiments.api.docs import open_to_readers
from experiments.api.errors import add_error_handlers
from experiments.api.health import health
from experiments.api.site import LabAPI
from experiments.api.views import nothing_here, route_view

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
api.add_router("/presets", presets.router)
api.add_router("", lab.router)
api.add_router("", data.router)
api.add_router("", export.router)
api.add_router("", comparisons.router)
api.add_router("", audit.router)
add_error_handlers(api)

mounted = api.urls
for pattern in mounted[0]:
    if isinstance(pattern, URLPattern):
        pattern.callback = route_view(pattern.callback)

urlpatterns = [
    path("healthz", health, name="healthz"),
    path("api/v1/", mounted),
    path("api/<path:rest>", nothing_here),
]
