"""What must happen whether or not a message arrives: silent workers lose their runs, idle ones are woken up."""

from __future__ import annotations

import logging
import time
from threading import Event, Thread

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from experiments.core.database import Lock, set_db_timeouts, try_session_lock
from experiments.datasets.services.uploads import request_dropped_files
from experiments.housekeeping.services.jobs import jobs_prune, jobs_reap, wake_up_for_waiting_jobs
from experiments.queue.services.claim import runs_reap
from experiments.queue.services.rehash import queued_runs_rehash, stranded_device_types, stranded_runs_restart
from experiments.queue.services.retention import (
    client_numbers_drop,
    drafts_remove,
    retention_apply,
    sessions_remove,
)
from experiments.queue.services.wake_up import wake_up_idle_workers
from experiments.queue.services.workers import samples_prune, workers_forget
from experiments.results.services.old_curves import move_request
from workers.catalog.plugins import StalePluginError
from workers.store.store import StoreError, remote_store

logger = logging.getLogger(__name__)
TICK_SECONDS = 1.0
TIDY_SECONDS = 60.0
RETENTION_SECONDS = 3600.0
UPLOAD_SECONDS = 5.0
DEVICE_PATIENCE_SECONDS = 600.0
"""A machine that starts anew brings its devices back; only then are runs that began on them begun elsewhere."""


class Scheduler:
    """Of several, the one that holds the lock works; the others take over when its connection ends."""

    def __init__(self) -> None:
        self.leads = False
        self.reap_at = self.tidy_at = self.retention_at = self.uploads_at = 0.0
        self.missing_since: dict[str, float] = {}
        self.retention: Thread | None = None

    def run(self, stop: Event) -> None:
        set_db_timeouts()
        while not stop.wait(TICK_SECONDS):
            try:
                self.tick()
            except (OperationalError, InterfaceError) as error:
                connection.close()
                self.leads = False
                logger.warning("The database does not answer, trying again: %s", error)

    def tick(self) -> None:
        if not self.leads and not self.take_lead():
            return
        if time.monotonic() >= self.reap_at and (lost := runs_reap()):
            logger.warning("Took %s runs away from silent workers.", lost)
            rehash_after_upgrade()
        if time.monotonic() >= self.tidy_at:
            self.tidy_at = time.monotonic() + TIDY_SECONDS
            workers_forget()
            samples_prune()
            jobs_prune()
            move_request()
            self.restart_stranded_runs()
        if time.monotonic() >= self.retention_at:
            self.retention_at = time.monotonic() + RETENTION_SECONDS
            self.apply_retention()
            if fewer := client_numbers_drop():
                logger.info("Removed numbers of single clients of %s runs, but for the last.", fewer)
            if drafts := drafts_remove():
                logger.info("Removed %s files that were never written to their end.", drafts)
            sessions_remove()
        wake_up_idle_workers()
        self.look_after_jobs()

    def apply_retention(self) -> None:
        """Beside the ticks where the store is elsewhere: runs are taken from silent workers however slow it is."""
        if remote_store() is None:
            remove_old_files()
        elif self.retention is None or not self.retention.is_alive():
            self.retention = Thread(target=remove_old_stored_files, name="retention", daemon=True)
            self.retention.start()

    def look_after_jobs(self) -> None:
        if time.monotonic() >= self.uploads_at:
            self.uploads_at = time.monotonic() + UPLOAD_SECONDS
            request_dropped_files()
        if silent := jobs_reap():
            logger.warning("Nobody has heard of %s jobs: they are tried again.", silent)
        wake_up_for_waiting_jobs()

    def restart_stranded_runs(self) -> None:
        now = time.monotonic()
        self.missing_since = {each: self.missing_since.get(each, now) for each in stranded_device_types()}
        for device_type, since in self.missing_since.items():
            if now - since >= DEVICE_PATIENCE_SECONDS and (runs := stranded_runs_restart(device_type=device_type)):
                logger.warning("No worker has a %s device any more: %s runs start anew.", device_type, runs)

    def take_lead(self) -> bool:
        """Leases may have run out for want of a database: whoever lives gets the time of one to say so."""
        self.leads = try_session_lock(Lock.SCHEDULER)
        self.reap_at = time.monotonic() + settings.LEASE
        if self.leads:
            rehash_after_upgrade()
        return self.leads


def remove_old_files() -> None:
    if removed := retention_apply():
        logger.info("Removed old checkpoints or logs of %s runs.", removed)


def remove_old_stored_files() -> None:
    try:
        remove_old_files()
    except (StoreError, OperationalError, InterfaceError) as error:
        logger.warning("Old checkpoints and logs are left for the next time: %s", error)
    finally:
        connection.close()


def rehash_after_upgrade() -> None:
    """Also of runs that a worker gave back only now; `manage.py prepare` came before that."""
    try:
        if rehashed := queued_runs_rehash():
            logger.info("Gave %s queued runs the identity that their specs have in this version.", rehashed)
    except StalePluginError as error:
        logger.warning("Queued runs keep the identity they have. %s", error)
