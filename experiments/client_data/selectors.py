"""Portraits and looks for pages: from the cache, made here where that is quick, otherwise in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from typing import Any

from workers.catalog.component import Dataset
from workers.client_data import store
from workers.client_data.description import Portrait
from workers.client_data.holdings import relevant
from workers.client_data.overviews import Look, kept_look, look_key, make_look
from workers.errors import TributaryError
from workers.home import ROOT
from workers.spec import RunSpec

PATIENCE = 60


class PortraitError(TributaryError):
    """What cannot be drawn, and why."""


def portrait_of(spec: RunSpec) -> Portrait:
    if kept := store.kept_portrait(store.key_of(spec)):
        return kept
    if store.is_quick(spec):
        return store.make_portrait(spec)
    make_apart({"spec": relevant(spec)})
    if made := store.kept_portrait(store.key_of(spec)):
        return made
    raise PortraitError("The picture could not be kept. Is there room on the disk?")


def look_at(dataset: Dataset, params: Any, *, wait: bool = False) -> Look | None:
    """None where it is not there, or takes longer and nobody waits for it."""
    if dataset.available(params):
        return None
    if kept := kept_look(look_key(dataset, params)):
        return kept
    if dataset.loads_at_once(params):
        with suppress(TributaryError):
            return make_look(dataset, params)
    if wait:
        make_apart({"dataset": params.model_dump(mode="json")})
    return kept_look(look_key(dataset, params))


def make_apart(wanted: dict[str, Any]) -> None:
    command = [sys.executable, "-m", "workers.client_data"]
    try:
        done = subprocess.run(
            command, input=json.dumps(wanted), capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT, check=True
        )
    except subprocess.TimeoutExpired:
        raise PortraitError(f"This picture takes longer than {PATIENCE} s: take fewer clients or samples.") from None
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise PortraitError(f"The picture could not be made: {last}") from None
    if reason := json.loads(done.stdout).get("error"):
        raise PortraitError(reason)
