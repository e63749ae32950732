import stat
from multiprocessing import get_context

from config.home import Home


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
