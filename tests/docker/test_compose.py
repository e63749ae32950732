import re
from pathlib import Path

import yaml
from config.env import VARIABLES
from django.core.management import get_commands

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docker" / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]
OWN = {"prepare", "web", "scheduler", "worker", "worker-gpu"}


def requirements(path):
    return {line for line in (ROOT / path).read_text().splitlines() if line and not line.startswith("#")}


def test_it_has_the_whole_platform():
    assert set(SERVICES) == OWN | {"postgres", "redis"}
    assert SERVICES["worker-gpu"]["profiles"] == ["gpu"]


def test_every_command_exists():
    for name in OWN:
        program, script, command, *_ = SERVICES[name]["command"]
        assert (program, script) == ("python", "manage.py")
        assert command in get_commands()


def test_every_variable_of_our_services_is_read_by_the_code():
    known = {variable.name for variable in VARIABLES}
    for name in OWN:
        assert set(SERVICES[name]["environment"]) <= known, name


def test_no_secret_has_a_default():
    for secret in ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "SECRET_KEY", "TRIBUTARY_ADMIN_PASSWORD"):
        uses = re.findall(r"\$\{" + secret + r"(.)(.)", TEXT)
        assert uses
        assert set(uses) == {(":", "?")}, f"{secret} must be demanded with a message"
        assert f"\n{secret}=\n" in (ROOT / "docker" / "env.example").read_text()


def test_the_published_port_is_the_one_the_server_listens_on():
    web = SERVICES["web"]
    assert (web["environment"]["HOST"], web["environment"]["PORT"]) == ("0.0.0.0", "8000")
    assert web["ports"] == ["${PORT:-8000}:8000"]
    assert "http://127.0.0.1:8000/healthz" in web["healthcheck"]["test"][-1]


def test_what_can_be_asked_has_a_health_check():
    for name in ("postgres", "redis", "web", "worker", "worker-gpu"):
        assert SERVICES[name]["healthcheck"]["test"]


def test_redis_never_throws_messages_away():
    assert "maxmemory-policy noeviction" in SERVICES["redis"]["command"][-1]


def test_data_outlive_containers():
    assert SERVICES["postgres"]["volumes"] == ["postgres:/var/lib/postgresql"]
    assert all(SERVICES[name]["volumes"] == ["data:/data"] for name in OWN)
    assert set(COMPOSE["volumes"]) == {"data", "postgres"}


def test_each_gpu_gets_a_worker_of_its_own():
    (device,) = SERVICES["worker-gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert device == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert SERVICES["worker-gpu"]["command"] == ["python", "manage.py", "workers"]


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
    heavy = {"torch", "torchvision", "flwr[simulation]", "ray", "scikit-learn", "scipy"}
    assert not heavy & {line.partition("==")[0] for line in web}
