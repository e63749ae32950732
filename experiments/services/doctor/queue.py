"""Runs that nobody works on although they should be."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.db.models.functions import Now

from experiments.models import Device, Run, RunState, Study
from experiments.services.doctor.findings import Finding, good, warning
from experiments.services.fleet import living

LATE = timedelta(minutes=1)


def leases() -> Iterator[Finding]:
    """The scheduler takes them back within seconds."""
    stale = Run.objects.filter(state=RunState.RUNNING, lease_until__lt=Now() - LATE).order_by("pk")
    if found := list(stale.values_list("pk", flat=True)[:10]):
        runs = ", ".join(map(str, found))
        yield warning(
            f"Leases of running runs ran out and were not taken back: run {runs}.", "Start `manage.py scheduler`."
        )
    else:
        yield good("Every running run has a worker.")


def waiting() -> Iterator[Finding]:
    asking = Study.objects.filter(memberships__waiting=True, paused=False, cancelled=False)
    if not (wanted := set(asking.values_list("requires", flat=True))):
        yield good("No run waits.")
    elif Device.GPU in wanted and not living().exclude(device="cpu").exists():
        yield warning("Runs wait for a GPU, and no worker has one.", "Start a GPU worker, or launch them for the CPU.")
    else:
        yield good("Every waiting run has a worker that may take it.")
