"""What a process does before it serves its first page."""

from __future__ import annotations

import gc

from django.urls import get_resolver


def prepare_to_serve() -> None:
    """Imports every page, so that nobody waits for that, and keeps what is imported out of the collector's sight.

    That stays, and a page of a large study makes a hundred thousand objects that live as long as it: the collector
    need not walk over either again and again.
    """
    get_resolver().url_patterns  # noqa: B018
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 10, 10)
