"""Waiting for what a page's scripts make: asked from outside, because the pages' policy lets nothing be evaluated."""

from __future__ import annotations

import time

from playwright.sync_api import Page

LOOK_MILLISECONDS = 100


def wait_until(page: Page, expression: str, *, timeout: float = 20_000) -> None:
    deadline = time.monotonic() + timeout / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < deadline, f"not within {timeout / 1000:g} s: {expression}"
        page.wait_for_timeout(LOOK_MILLISECONDS)
