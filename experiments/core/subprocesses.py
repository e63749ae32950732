"""Asking a module in a process of its own: the web server never imports torch, nor what only a few requests need."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from workers.child_environment import environment_without_secrets
from workers.home import ROOT


def ask_module(module: str, request: Any, *, timeout: float) -> Any:
    """Its answer; both travel as JSON. Raises `subprocess.SubprocessError` where it fails or takes longer."""
    return json.loads(run_module(module, json.dumps(request).encode(), timeout=timeout))


def run_module(module: str, content: bytes, *, timeout: float, environment: Mapping[str, str] | None = None) -> bytes:
    """What it writes to its standard output, having read `content` from its standard input."""
    process = subprocess.run(
        [sys.executable, "-m", module],
        input=content,
        capture_output=True,
        timeout=timeout,
        cwd=ROOT,
        env={**environment_without_secrets(), **(environment or {})},
        check=True,
    )
    return process.stdout
