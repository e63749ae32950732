"""How long a person waits for 40 lines: from the request to the frame after the chart is drawn, in Chromium."""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import time
import urllib.request

from playwright.sync_api import sync_playwright

# From the start of the navigation to two frames after the last line is there.
PAINTED = """() => new Promise((done) => {
  const look = () => document.querySelectorAll('#chart-curves .js-line').length >= 40
    ? requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))) : requestAnimationFrame(look);
  look();
})"""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def first_paint(study: int, repeats: int = 5) -> float:
    from config.services.spawn import port_of, reserve_port

    with reserve_port() as holder:
        port = port_of(holder)
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port), "--log-level", "error"]
    server = subprocess.Popen(command)
    try:
        wait_for(f"http://127.0.0.1:{port}/log-in")
        return statistics.median(painted(f"http://127.0.0.1:{port}", study) for _ in range(repeats))
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


def painted(base: str, study: int) -> float:
    from django.test import Client

    from experiments.models import User

    client = Client()
    client.force_login(User.objects.get(username="bench"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": base}])
        page = context.new_page()
        page.goto(f"{base}/compare?study={study}&band=none", wait_until="commit")
        found = float(page.evaluate(PAINTED))
        browser.close()
    return found
