"""Asking a module of the compute side in a process of its own: the web server never imports torch."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from workers.home import ROOT


def ask_module(module: str, request: Any, *, timeout: float) -> Any:
    """Its answer; both travel as JSON. Raises `subprocess.SubprocessError` where it fails or takes longer."""
    process = subprocess.run(
        [sys.executable, "-m", module],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=ROOT,
        check=True,
    )
    return json.loads(process.stdout)
