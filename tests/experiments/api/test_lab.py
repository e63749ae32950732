import re
import subprocess
import sys
from typing import Any

from django.conf import settings
from django.templatetags.static import static
from django.test import Client

from experiments.models import User, Worker
from workers import home


def test_nobody_gets_in_without_a_log_in_or_a_token(db: None, client: Client) -> None:
    answer = client.get("/api/v1/workers")
    words = "Log in first, or send an API token: Authorization: Bearer trib_..."
    assert (answer.status_code, answer.json()) == (401, {"detail": words, "errors": []})
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="Tributary"'


def test_the_catalog_lists_components_with_schemas(client: Client, viewer: User) -> None:
    client.force_login(viewer)
    catalog = client.get("/api/v1/catalog").json()
    assert {"dataset", "model", "partition", "strategy", "optimizer"} <= set(catalog)
    fedprox = next(each for each in catalog["strategy"] if each["name"] == "fedprox")
    assert fedprox["schema"]["properties"]["mu"]["minimum"] == 0


def test_workers_are_listed(client: Client, viewer: User, worker: Worker) -> None:
    client.force_login(viewer)
    (answer,) = client.get("/api/v1/workers").json()
    assert (answer["name"], answer["device"], answer["alive"], answer["run"]) == ("worker-1@lab", "cpu", True, None)


def test_the_docs_use_local_assets_only(client: Client, viewer: User) -> None:
    client.force_login(viewer)
    page = client.get("/api/v1/docs").content.decode()
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert static("css/api.css") in addresses
    assert all(re.match(r"/(?!/)|#", address) for address in addresses)
    assert client.get("/api/v1/openapi.json").json()["openapi"].startswith("3.1")


def test_health_tells_the_truth(db: None, client: Client, redis_url: str, worker: Worker) -> None:
    answer = client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", "database": "ok", "broker": "ok", "disk": "ok", "workers": 1}


def test_health_tells_when_runs_wait_for_room_on_the_disk(
    db: None, client: Client, redis_url: str, worker: Worker, monkeypatch: Any
) -> None:
    monkeypatch.setattr(home, "MIN_FREE_BYTES", 1 << 62)
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["status"], answer.json()["disk"]) == (200, "degraded", "full")


def test_health_is_bad_when_the_broker_is_away(db: None, client: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["broker"], answer.json()["database"]) == (503, "down", "ok")


WITHOUT_TORCH = """
import sys, django
django.setup()
from config.asgi import application
import config.urls, config.celery, workers.queue.task, experiments.results.live.stream
from workers.catalog import load_catalog
load_catalog().describe()
print(sorted({"torch", "flwr", "ray", "numba"} & set(sys.modules)))
"""


def test_neither_web_nor_worker_process_imports_what_computes() -> None:
    answer = subprocess.run([sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
