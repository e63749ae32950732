from pathlib import Path

import pytest
from config import env
from config.env import ROOT, SettingError, settings_table


def refusal(variable, value):
    with pytest.raises(SettingError) as caught:
        variable.read({variable.name: value})
    return caught.value.detail


def test_an_unset_or_empty_variable_has_its_default():
    assert env.PORT.read({}) == 8000
    assert env.PORT.read({"PORT": ""}) == 8000
    assert env.HOST.read({}) == "127.0.0.1"
    assert env.DEBUG.read({}) is False
    assert env.TOUR.read({}) is True
    assert env.WORKERS.read({}) is None
    assert env.DATABASE_URL.read({}) == ""


@pytest.mark.parametrize(("word", "meant"), [("1", True), ("yes", True), ("ON", True), ("0", False), ("False", False)])
def test_a_flag_is_read_from_the_usual_words(word, meant):
    assert env.DEBUG.read({"DEBUG": word}) is meant


def test_a_flag_that_is_no_flag_is_refused():
    assert refusal(env.DEBUG, "maybe") == "DEBUG must be 1 or 0 (or true, false, yes, no, on, off), but is 'maybe'."


@pytest.mark.parametrize("value", ["0", "65536", "-1", "eighty", "80.0", "٨٠"])
def test_a_port_that_is_no_port_is_refused(value):
    assert refusal(env.PORT, value) == f"PORT must be a whole number from 1 to 65535, but is {value!r}."


def test_trusted_proxies_are_addresses_or_networks():
    assert env.TRUSTED_PROXIES.read({}) == []
    given = {"TRIBUTARY_TRUSTED_PROXIES": "127.0.0.1, 10.0.0.0/8,::1"}
    assert env.TRUSTED_PROXIES.read(given) == ["127.0.0.1", "10.0.0.0/8", "::1"]
    for value in ("*", "proxy.example", "10.0.0.1/8"):
        assert refusal(env.TRUSTED_PROXIES, value).startswith("TRIBUTARY_TRUSTED_PROXIES must be IP addresses or")


def test_the_number_of_workers_is_bounded():
    assert env.WORKERS.read({"WORKERS": "0"}) == 0
    assert refusal(env.WORKERS, "513") == "WORKERS must be a whole number from 0 to 512, but is '513'."


@pytest.mark.parametrize("value", ["http://here", "a b", "me@here"])
def test_a_host_is_a_name_and_nothing_more(value):
    assert refusal(env.HOST, value).startswith("HOST must be a host name or an IP address")


@pytest.mark.parametrize(
    "value", ["mysql://u:p@h/n", "postgresql://", "just words", "postgresql://u:p@h:port/n", "postgresql://h:99999/n"]
)
def test_a_database_address_must_be_one_and_its_password_is_not_repeated(value):
    assert refusal(env.DATABASE_URL, value) == (
        "DATABASE_URL must be an address such as postgresql://user:password@host:5432/name,"
        " but is its value (not shown)."
    )


def test_a_server_behind_a_unix_socket_has_an_address_too():
    for variable, value in (
        (env.DATABASE_URL, "postgresql://u:p@/n?host=/run/lab"),
        (env.REDIS_URL, "unix://:p@/run/lab/redis.sock?db=0"),
    ):
        assert variable.read({variable.name: value}) == value
    assert "must be an address such as" in refusal(env.DATABASE_URL, "postgresql://u:p@/n?host=lab")
    assert "must be an address such as" in refusal(env.REDIS_URL, "unix://")


def test_servers_are_opened_at_an_address_and_a_port():
    assert env.POSTGRES_LISTEN.read({}) is None
    assert env.POSTGRES_LISTEN.read({"TRIBUTARY_POSTGRES_LISTEN": "10.0.0.5:6432"}) == env.Listen("10.0.0.5", 6432)
    assert env.REDIS_LISTEN.read({"TRIBUTARY_REDIS_LISTEN": "[::1]:6379"}) == env.Listen("::1", 6379)
    for value in ("10.0.0.5", "5432", ":5432", "10.0.0.5:0", "10.0.0.5:many"):
        assert refusal(env.POSTGRES_LISTEN, value) == (
            "TRIBUTARY_POSTGRES_LISTEN must be an address of this machine and a port, such as 10.0.0.5:5432,"
            f" but is {value!r}."
        )


def test_a_short_secret_key_is_refused():
    assert "at least 32 characters" in refusal(env.SECRET_KEY, "changeme")


def test_origins_need_a_scheme():
    assert env.CSRF_TRUSTED_ORIGINS.read({"CSRF_TRUSTED_ORIGINS": "https://a.org, http://b"}) == [
        "https://a.org",
        "http://b",
    ]
    assert "http:// or https://" in refusal(env.CSRF_TRUSTED_ORIGINS, "lab.example.org")


def test_a_relative_home_counts_from_the_project():
    assert env.HOME.read({}) == ROOT / ".tributary"
    assert env.HOME.read({"TRIBUTARY_HOME": "/srv/lab"}) == Path("/srv/lab")
    assert env.HOME.read({"TRIBUTARY_HOME": "~/lab"}) == Path.home() / "lab"


def test_the_readme_lists_every_setting_as_the_code_has_it():
    readme = (ROOT / "README.md").read_text()
    assert readme.partition("<!-- settings -->\n")[2].partition("\n<!-- /settings -->")[0] == settings_table()
