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
