import os
import subprocess
import sys

SEEN = "import workers, os; print(os.environ['FLWR_TELEMETRY_ENABLED'], os.environ['RAY_USAGE_STATS_ENABLED'])"
SILENT = """
import workers
from flwr.supercore import telemetry
from ray._common.usage import usage_lib
print(telemetry.FLWR_TELEMETRY_ENABLED, usage_lib.usage_stats_enabled())
"""


def run(code, **environ):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("FLWR_", "RAY_"))}
    done = subprocess.run([sys.executable, "-c", code], env=inherited | environ, capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_whatever_imports_our_code_is_silent_about_it():
    assert run(SEEN) == "0 0"


def test_flower_and_ray_see_it_that_way():
    assert run(SILENT) == "0 False"


def test_a_person_may_switch_reports_on():
    assert run(SEEN, FLWR_TELEMETRY_ENABLED="1") == "1 0"
