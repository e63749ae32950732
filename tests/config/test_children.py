import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from config.home import Home
from config.services.server import Command, spawn
from config.services.state import process_record, read_state, record_process
from config.supervisor import Child, Supervisor, cap_logs, clear_leftovers, process_child, stop_together

from tests.limits import full_disk

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
)
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


def python(code, log):
    return Command([sys.executable, "-c", code], log)


def output_of(log):
    while not log.exists() or not log.read_text().endswith("\n"):
        time.sleep(0.02)
    return log.read_text()


def has_ended(pid):
    try:
        psutil.Process(pid).wait(10)
    except psutil.NoSuchProcess:
        return True
    return not psutil.pid_exists(pid)


def test_a_process_does_not_outlive_a_parent_that_is_killed():
    code = """
import time
from config.services.server import Command, spawn
print(spawn(Command(["sleep", "600"])).pid, flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with parent:
        child = int(parent.stdout.readline())
        assert psutil.pid_exists(child)
        parent.kill()
    assert has_ended(child)


def test_what_ignores_a_polite_request_is_ended(tmp_path):
    child = process_child("stubborn", python(STUBBORN, tmp_path / "log"), lambda: True, grace_seconds=0.2)
    child.launch()
    output_of(tmp_path / "log")
    stop_together([child])
    assert child.exit_code == -signal.SIGKILL


def test_descendants_in_sessions_of_their_own_are_ended_too(tmp_path):
    child = process_child("parent", python(PARENT, tmp_path / "log"), lambda: True)
    child.launch()
    grandchild = int(output_of(tmp_path / "log"))
    stop_together([child])
    assert has_ended(grandchild)


def test_the_pauses_before_a_restart_grow_up_to_half_a_minute(tmp_path):
    child = Child("crasher", lambda: None, tmp_path / "log", started=time.monotonic())
    assert [child.plan_restart() for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]


def test_one_that_had_run_steadily_starts_over_with_a_short_pause(tmp_path):
    child = Child("steady", lambda: None, tmp_path / "log", started=time.monotonic() - 61, failures=5)
    assert child.plan_restart() == 1


def test_a_full_log_is_set_aside_and_goes_on(tmp_path):
    log = tmp_path / "web.log"
    with log.open("a") as writer:
        writer.write("x" * 101)
        writer.flush()
        cap_logs(tmp_path, largest=100)
        writer.write("after")
    assert log.read_text() == "after"
    assert (tmp_path / "web.log.1").read_text() == "x" * 101


def test_a_full_disk_costs_the_older_lines_and_nothing_else(tmp_path):
    log = tmp_path / "web.log"
    log.write_text("x" * 101)
    with full_disk():
        cap_logs(tmp_path, largest=100)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("web.log", "")]


def test_stopping_on_a_full_disk_says_so_in_a_line(tmp_path, capsys):
    supervisor = Supervisor(Home(tmp_path).make())
    record_process(supervisor.home, "web", process_record(os.getpid()))
    with full_disk():
        supervisor.stop()
    assert capsys.readouterr().out == f"{tmp_path}/services.json could not be written: File too large.\n"


def test_leftovers_of_a_killed_supervisor_are_ended_by_number_and_start_time(tmp_path):
    home = Home(tmp_path).make()
    left, stranger = (spawn(python("import time; time.sleep(600)", tmp_path / "log")) for _ in range(2))
    record_process(home, "web", process_record(left.pid))
    old = process_record(stranger.pid)
    record_process(home, "scheduler", type(old)(old.pid, old.started - 60))
    try:
        assert clear_leftovers(home) == 1
        assert left.wait(10) is not None
        assert stranger.poll() is None
        assert read_state(home) == {}
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("log", [None, "web.log"])
def test_trouble_names_the_log_where_there_is_one(log, tmp_path):
    child = Child("web", lambda: None, tmp_path / log if log else None)
    expected = f"web ended. Its log is {tmp_path}/web.log." if log else "web ended."
    assert child.problem_text("ended") == expected
