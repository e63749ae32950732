import stat
import subprocess
import sys
from multiprocessing import get_context

import pytest
from config.home import Home, write_private

from tests.limits import full_disk


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def ask(path):
    return Home(path).secret("key")


def test_nobody_else_may_look_into_a_home(tmp_path):
    home = Home(tmp_path / "new" / "home").make()
    home.secret("key")
    assert [mode(folder) for folder in (home.path, home.logs, home.path / "secrets")] == [0o700] * 3
    assert mode(home.path / "secrets" / "key") == 0o600


def test_a_secret_is_made_once_and_kept(tmp_path):
    first = Home(tmp_path).secret("key")
    assert len(first) == 64
    assert Home(tmp_path).secret("key") == first
    assert Home(tmp_path).secret("other") != first


def test_all_who_ask_at_once_get_the_same_secret(tmp_path):
    with get_context("spawn").Pool(4) as pool:
        assert len(set(pool.map(ask, [tmp_path] * 16))) == 1


def test_a_home_that_was_open_to_others_is_closed(tmp_path):
    home = Home(tmp_path / "home")
    home.path.mkdir(mode=0o755)
    home.path.chmod(0o755)
    home.make()
    assert mode(home.path) == 0o700


def test_what_lies_in_a_home_is_closed_to_others_and_nothing_beyond(tmp_path):
    outside = tmp_path / "plugins"
    outside.mkdir()
    home = Home(tmp_path / "home").make()
    upload, script = home.path / "datasets" / "npz" / "own.npz", home.path / "run.sh"
    upload.parent.mkdir(parents=True)
    upload.touch()
    script.touch()
    for path, wrong in ((outside, 0o755), (upload.parent, 0o775), (upload, 0o644), (script, 0o755)):
        path.chmod(wrong)
    (home.path / "link").symlink_to(outside)
    (home.path / "dangling").symlink_to("nowhere")
    # `datasets`, too: an umask of 022 left it open.
    open_places = 3 + (mode(home.path / "datasets") != 0o700)
    assert home.close_to_others() == open_places
    assert [mode(path) for path in (upload.parent, upload, script, outside)] == [0o700, 0o600, 0o700, 0o755]
    assert home.close_to_others() == 0


@pytest.mark.parametrize("process", ["config.asgi", "config.celery"])
def test_what_web_server_and_workers_write_is_their_accounts_alone(process, tmp_path):
    code = f"import os; os.umask(0o022); import {process}; open({str(tmp_path / 'upload')!r}, 'wb').close()"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert mode(tmp_path / "upload") == 0o600


def test_a_full_disk_leaves_the_file_that_was_there_and_no_draft(tmp_path):
    write_private(tmp_path / "state", "before")
    with full_disk(), pytest.raises(OSError, match="File too large"):
        write_private(tmp_path / "state", "after")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("state", "before")]
