"""The Celery app. A message only says "there may be work"; PostgreSQL holds the queues themselves.

Which tasks a process has, its command says (`config.processes`): workers compute runs, housekeeping does the rest.
"""

from __future__ import annotations

import os
from urllib.parse import parse_qs, urlsplit

from celery import Celery
from kombu import Queue

from config.home import keep_files_private

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.conf import settings  # needs the line above

keep_files_private()
NOBODY_LISTENS = "redis://127.0.0.1:1/0"


def broker_address(url: str) -> str:
    """Celery has its own way to write a Unix socket."""
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    database = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.netloc}{parts.path}?virtual_host={database}"


app = Celery("tributary")
app.conf.update(
    broker_url=broker_address(settings.REDIS_URL or NOBODY_LISTENS),
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    # A message handed out twice is harmless (its second reader finds nothing to claim), a worker that died with one is
    # made good by the scheduler long before.
    broker_transport_options={
        "visibility_timeout": 24 * 3600,
        "socket_connect_timeout": 3,
        "socket_keepalive": True,
        "health_check_interval": 15,
    },
    # A page that wakes up workers must not hang when Redis is away: the scheduler wakes them up anyway.
    task_publish_retry_policy={"max_retries": 1, "interval_start": 0.1, "interval_step": 0.1},
    task_default_queue="cpu",
    task_queues=[Queue("cpu"), Queue("gpu"), Queue("housekeeping")],
    task_create_missing_queues=False,
    # At once, and without counting what is unacknowledged: one that Redis did not live to hear would be missing for
    # good, and a worker that counts it takes no message any more.
    task_acks_late=False,
    worker_prefetch_multiplier=0,
    task_ignore_result=True,
    result_backend=None,
    # The worker only watches a runner process, so one process with no pool suffices, and it hears SIGTERM itself.
    worker_pool="solo",
    worker_concurrency=1,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    timezone="UTC",
)
