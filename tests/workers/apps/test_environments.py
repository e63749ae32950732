"""An app whose dependencies are not met here gets an environment of its own, with Tributary's packages behind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.workers.apps.driver import example, hostile, run_app
from tests.workers.apps.wheels import write_wheel
from workers.apps.check import check_app
from workers.apps.environments import app_interpreter, install_log, is_met, make_environment, missing_dependencies
from workers.apps.launcher import app_environment, is_own_interpreter
from workers.apps.package import AppError


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package index of one folder, with nothing in it yet."""
    monkeypatch.setenv("TRIBUTARY_HOME", str(tmp_path / "home"))
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_requirements_are_met_by_what_is_installed_here() -> None:
    assert is_met("numpy>=1.0")
    assert is_met("flwr[simulation]>=1.20")
    assert is_met('tensorflow ; sys_platform == "never"')
    assert not is_met("numpy<1.0")
    assert not is_met("a-package-nobody-has-made")
    assert not is_met("not a requirement")


def test_an_app_whose_dependencies_are_met_has_tributarys_interpreter(wheels: Path) -> None:
    package = example("numpy-least-squares")
    assert missing_dependencies(package) == []
    assert is_own_interpreter(make_environment(package))


def test_an_environment_is_made_and_the_app_runs_in_it(wheels: Path, tmp_path: Path) -> None:
    package = hostile("missing-dependency")
    assert missing_dependencies(package) == ["a-package-nobody-has-made==1"]
    assert check_app(package)["missing"] == ["a-package-nobody-has-made==1"]
    write_wheel(wheels, "a_package_nobody_has_made", "1", "def loss():\n    return 0.25\n")
    interpreter = make_environment(package)
    assert interpreter == app_interpreter(package)
    assert not is_own_interpreter(interpreter)
    assert "Successfully installed" in install_log(package).read_text()
    assert check_app(package) == {
        "ok": True,
        "problem": "",
        "missing": [],
        "python": check_app(example("numpy-least-squares"))["python"],
        "interpreter": "an environment of the app's own",
    }
    assert set(run_app(package, tmp_path / "run").metric("train_loss")) == {0.25}


def test_what_cannot_be_installed_is_told_and_leaves_no_environment(wheels: Path) -> None:
    package = hostile("missing-dependency")
    with pytest.raises(AppError, match="What missing-dependency needs could not be installed: ERROR: No matching"):
        make_environment(package)
    assert is_own_interpreter(app_interpreter(package))
    other = replace(package, dependencies=("numpy",))
    assert is_own_interpreter(make_environment(other))


def test_an_apps_environment_has_fixed_hashes_one_thread_and_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "TRIBUTARY_ADMIN_PASSWORD", "HF_TOKEN", "MY_DATA"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("TRIBUTARY_APP_ENVIRONMENT", "MY_DATA, DATABASE_URL")
    environment = app_environment("mark", "cuda:1")
    assert "secret" not in {value for name, value in environment.items() if name != "MY_DATA"}
    assert environment["MY_DATA"] == "secret"
    assert environment["PYTHONHASHSEED"] == "0"
    assert environment["OMP_NUM_THREADS"] == "1"
    assert environment["CUDA_VISIBLE_DEVICES"] == "1"
    assert app_environment("mark", "cpu")["CUDA_VISIBLE_DEVICES"] == ""
