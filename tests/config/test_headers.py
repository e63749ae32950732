import os
import subprocess
import sys

import pytest
from config.env import ROOT
from config.http_limits import CONTENT_SECURITY_POLICY
from django.templatetags.static import static
from django.test import Client


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/log-in", "/healthz", "/api/v1/studies", "/no-such-page", static("css/base.css")])
def test_every_answer_tells_browsers_what_to_refuse(path):
    headers = Client().get(path).headers
    assert headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_no_script_may_be_inline_or_made_from_text():
    scripts = next(part for part in CONTENT_SECURITY_POLICY.split("; ") if part.startswith("script-src"))
    assert scripts == "script-src 'self'"
    assert "frame-ancestors 'none'" in CONTENT_SECURITY_POLICY


def test_the_deployment_check_has_nothing_to_say_behind_tls():
    command = [sys.executable, str(ROOT / "manage.py"), "check", "--deploy", "--fail-level", "WARNING"]
    environ = os.environ | {"TRIBUTARY_HTTPS": "1", "ALLOWED_HOSTS": "lab.example"}
    environ.pop("DJANGO_ALLOW_ASYNC_UNSAFE", None)  # set by the browser tests
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "no issues" in done.stdout
