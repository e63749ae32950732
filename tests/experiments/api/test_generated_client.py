"""A client that a common generator makes from the OpenAPI document, at work against a real server."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from experiments.access.services.tokens import token_create
from experiments.api.urls import api
from tests.experiments import lab

if TYPE_CHECKING:
    from experiments.models import User
    from tests.live import LivePlatform

GENERATOR = Path(sys.executable).with_name("openapi-python-client")


@pytest.fixture
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The package's name; a warning of the generator fails."""
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(api.get_openapi_schema()))
    command = [GENERATOR, "generate", "--path", document, "--meta", "none", "--fail-on-warning"]
    path = f"{GENERATOR.parent}{os.pathsep}{os.environ['PATH']}"  # it calls ruff
    done = subprocess.run(
        [*command, "--output-path", tmp_path / "generated_lab"],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    return "generated_lab"


def function(package: str, name: str) -> Any:
    return importlib.import_module(f"{package}.api.{name}").sync_detailed


@pytest.mark.django_db(transaction=True)
def test_it_lists_studies_checks_a_grid_and_is_told_what_is_wrong(
    generated: str, live_platform: LivePlatform, owner: User
) -> None:
    study = lab.launched(owner)
    _, secret = token_create(owner=owner, name="Generated", scope="read")
    package = importlib.import_module(generated)
    models = importlib.import_module(f"{generated}.models")
    with package.AuthenticatedClient(base_url=live_platform.base_url, token=secret) as client:
        listed = function(generated, "studies.studies_studies")(client=client)
        assert (listed.status_code, listed.parsed.count) == (200, 1)
        assert [each.id for each in listed.parsed.items] == [study.pk]

        launch = function(generated, "studies.studies_launch")
        block = {**lab.BLOCK, "rounds": 1, "seeds": [5, 6]}
        wish = models.StudyDefinition.from_dict({"name": "Generated", "blocks": [block]})
        checked = launch(client=client, body=wish, dry_run=True)
        assert (checked.status_code, checked.parsed.runs, checked.parsed.cells) == (200, 4, 2)
        wrong = models.StudyDefinition.from_dict({"name": "Wrong", "blocks": [{**block, "rounds": 0}]})
        refused = launch(client=client, body=wrong, dry_run=True)
        assert (refused.status_code, refused.parsed.errors[0].path) == (422, "blocks.0.rounds")
        assert launch(client=client, body=wish).status_code == 403
