"""Every REST address: the routers of all features under /api/v1, the health check and Prometheus' metrics."""

from __future__ import annotations

from django.urls import URLPattern, path

from experiments.access import api as access
from experiments.api.auth import AUTH
from experiments.api.errors import add_error_handlers
from experiments.api.reference import Reference
from experiments.api.site import LabAPI, require_reader, route_view, unknown_address
from experiments.bookmarks import api as bookmarks
from experiments.catalog import api as catalog
from experiments.client_data import api as client_data
from experiments.compare import api as compare
from experiments.datasets import api as datasets
from experiments.export import api as export
from experiments.flower_apps import api as flower_apps
from experiments.leaderboard import api as leaderboard
from experiments.logged_runs import api as logged_runs
from experiments.notes import api as notes
from experiments.operations.health import health
from experiments.operations.metrics import metrics
from experiments.presets import api as presets
from experiments.queue import api as queue
from experiments.result_imports import api as result_imports
from experiments.results import api as results
from experiments.results.live import api as live
from experiments.studies import api as studies
from experiments.study_archives import api as study_archives

api = LabAPI(
    title="Tributary",
    version="1",
    urls_namespace="api",
    description="Launch grids of federated-learning experiments, follow them, and take every number with you.",
    auth=AUTH,
    docs=Reference(),
    docs_decorator=require_reader,
)
api.add_router("/studies", studies.router)
api.add_router("/runs", results.router)
api.add_router("/presets", presets.router)
for feature in (
    catalog,
    queue,
    live,
    datasets,
    flower_apps,
    logged_runs,
    result_imports,
    client_data,
    export,
    study_archives,
    compare,
    leaderboard,
    notes,
    bookmarks,
    access,
):
    api.add_router("", feature.router)
add_error_handlers(api)

api_urls = api.urls
for pattern in api_urls[0]:
    if isinstance(pattern, URLPattern):
        pattern.callback = route_view(pattern.callback)

urlpatterns = [
    path("healthz", health, name="healthz"),
    path("metrics", metrics, name="metrics"),
    path("api/v1/", api_urls),
    path("api/<path:rest>", unknown_address),
]
