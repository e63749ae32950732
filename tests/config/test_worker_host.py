"""Workers alone, as a further machine or a container starts them."""

import signal
import subprocess
import sys
import time

import psutil
from config.env import ROOT

PATIENCE = 120


def command(*arguments):
    return [sys.executable, str(ROOT / "manage.py"), "workers", *arguments]


def test_workers_alone_join_the_platform_and_leave_it(live_platform):
    live_platform.stop("worker-1")
    environment = live_platform.environment | {"WORKERS": "1"}

    def check():
        return subprocess.run(command("--check"), env=environment, capture_output=True, text=True, check=False)

    absent = check()
    assert absent.returncode == 1
    assert absent.stderr == "CommandError: No worker of this machine has been heard of lately.\n"

    with subprocess.Popen(command("--name", "spare"), env=environment, stderr=subprocess.DEVNULL) as host:
        deadline = time.monotonic() + PATIENCE
        while check().returncode:
            assert time.monotonic() < deadline
            time.sleep(0.5)
        family = psutil.Process(host.pid).children(recursive=True)
        host.send_signal(signal.SIGTERM)
        assert host.wait(PATIENCE) == 0
        assert psutil.wait_procs(family, timeout=0)[1] == []
    assert check().returncode == 1
