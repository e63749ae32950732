"""How long a person waits for 40 lines: from the request to the frame after the chart is drawn, in Chromium.

People come to Compare from another page of the lab, whose scripts their browser then has compiled already: what takes
longest by far. So it is measured twice: by somebody who comes from the study's page, and by a browser that has never
been here.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence

from playwright.sync_api import sync_playwright

# From the start of the navigation to two frames after the last line is there.
PAINTED = """() => new Promise((done) => {
  const look = () => document.querySelectorAll('#chart-curves .js-line').length >= 40
    ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))) : requestAnimationFrame(look);
  look();
})"""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


SETTLED_MS = 2_500
"""Time for a browser to put away what it compiled."""


def first_paints(study: int, repeats: int = 5) -> tuple[float, float]:
    """Coming from the study's page, and in a browser that is new here; medians, in milliseconds."""
    from config.services.server import port_of, reserve_port

    with reserve_port() as holder:
        port = port_of(holder)
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port), "--log-level", "error"]
    server = subprocess.Popen(command)
    base, compare = f"http://127.0.0.1:{port}", f"/compare?study={study}&band=none"
    try:
        wait_for(f"{base}/log-in")
        known = statistics.median(measure_paint(base, [f"/studies/{study}", compare]) for _ in range(repeats))
        return known, statistics.median(measure_paint(base, [compare]) for _ in range(repeats))
    finally:
        server.terminate()
        server.wait(20)


def wait_for(address: str) -> None:
    for _ in range(200):
        try:
            urllib.request.urlopen(address, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("The web server did not start.")


def measure_paint(base: str, addresses: Sequence[str]) -> float:
    """One person with a browser of their own visits these; how long the last of them took."""
    from django.test import Client

    from experiments.models import User

    client = Client()
    client.force_login(User.objects.get(username="bench"))
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": base}
    *before, last = addresses
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        browser = playwright.chromium.launch_persistent_context(
            profile, executable_path=shutil.which("chromium"), args=FLAGS, viewport={"width": 1280, "height": 900}
        )
        browser.add_cookies([cookie])
        page = browser.new_page()
        for address in before:
            page.goto(base + address, wait_until="load")
            page.wait_for_timeout(SETTLED_MS)
        page.goto(base + last, wait_until="commit")
        milliseconds = float(page.evaluate(PAINTED))
        browser.close()
    return milliseconds
