"""What pages and forms get from people who try: never a fault of ours. docs/security.md lists what each gets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from experiments.models import Job, Study
from tests.experiments import lab
from workers.home import home

FORMS = ("/studies/draft", "/studies/preview", "/studies/launch", "/studies/portrait")
FIRST = "a: &a [x]\n"
ALIASES = FIRST + "".join(
    f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
BODIES: dict[str, str] = {
    "nested": "[" * 100_000,
    "cut off": "{",
    "not a mapping": "[1]",
    "digits": f'{{"study": {{"name": "x", "blocks": [{{"rounds": {"9" * 5000}}}]}}}}',
    "not a number": '{"study": {"name": "x", "blocks": [{"rounds": NaN}]}, "blocks": [{"rounds": NaN}]}',
    "half a character": '{"study": {"name": "\\ud800", "blocks": []}, "blocks": []}',
    "aliases": json.dumps({"yaml": ALIASES}),
    "object": json.dumps({"yaml": "!!python/object/apply:os.system [id]"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_body_that_means_harm_is_no_study(as_owner: Client, form: str) -> None:
    launching = form == "/studies/launch"
    got = {name: as_owner.post(form, raw, content_type="application/json").status_code for name, raw in BODIES.items()}
    assert got == dict.fromkeys(BODIES, 422 if launching else 200)
    large = as_owner.post(form, "x" * 3_000_000, content_type="application/json")
    words = "This is larger than the 2.6 MB that are taken here. Nothing was changed."
    assert (large.status_code, large.json()["errors"]) == (413, [{"path": "", "message": words}])
    assert not Study.objects.exists()


@pytest.mark.parametrize("form", ["/log-in", "/me/tokens", "/studies/{study}/edit", "/queue/studies/pause"])
def test_a_form_that_is_too_large_says_so(as_owner: Client, study: Study, form: str) -> None:
    answer = as_owner.post(form.format(study=study.pk), {"name": "x" * 3_000_000})
    assert answer.status_code == 413
    assert "larger than the 2.6 MB that are taken here" in answer.content.decode()


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/?q=%00", 200),
        ("/?tag=%00&before=99999999999999999999", 200),
        ("/queue?person=%00&study=99999999999999999999&page=-1", 200),
        ("/compare?study=99999999999999999999&run=%00&metric=%00", 200),
        ("/audit?actor=%00", 403),
        ("/studies/99999999999999999999", 404),
        ("/runs/99999999999999999999", 404),
        ("/studies/new?from=%00", 404),
        ("/data-sets/digits/look?title=%00", 404),
        ("/data-sets/..%2f..%2fetc/look", 404),
        ("/shared/%00", 404),
        ("/portraits/..%2f..%2fsecrets.png", 404),
        ("/presets/%3Cscript%3E", 404),
    ],
)
def test_an_odd_address_is_not_found_or_means_nothing(
    as_owner: Client, study: Study, address: str, status: int
) -> None:
    assert as_owner.get(address).status_code == status


@pytest.mark.parametrize("name", ["../../../secrets/secret-key", "..%2fspec.yaml", "%00", "log.txt%00", "/etc/passwd"])
def test_a_runs_files_are_only_its_own(as_owner: Client, study: Study, name: str) -> None:
    run = lab.runs_in_order(study)[0]
    assert as_owner.get(f"/runs/{run.pk}/files/{name}").status_code == 404


def test_text_is_kept_as_text_and_shown_escaped(as_owner: Client, study: Study) -> None:
    script = "<script>alert(1)</script>\0"
    as_owner.post(f"/studies/{study.pk}/edit", {"name": script, "description": script, "tags": "<b>"})
    for page in ("/", f"/studies/{study.pk}", "/queue", f"/compare?study={study.pk}"):
        assert "<script>alert" not in as_owner.get(page).content.decode()


def test_log_in_takes_nobody_elsewhere_and_no_odd_name_in(browsers: dict[str, Client]) -> None:
    answer = browsers["owner"].get("/log-in?next=//evil.example")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/")
    for name in ("\0", "x" * 10_000, "' OR 1=1 --"):
        assert browsers["nobody"].post("/log-in", {"username": name, "password": "\0"}).status_code == 200


@pytest.mark.parametrize(
    ("form", "posted", "status"),
    [
        ("/me/tokens", {"name": "\0", "scope": "god", "days": "-5"}, 422),
        ("/me/tokens", {"name": "x" * 5000, "scope": "read"}, 422),
        ("/data-sets/mnist/import", {"path": "\0"}, 422),
        ("/data-sets/mnist/import", {"path": "../../etc/shadow"}, 422),
        ("/queue/studies/priority", {"id": "9" * 30, "priority": "9" * 30}, 302),
        ("/presets/niid-bench/launch", {"scale": "\0"}, 404),
    ],
)
def test_a_form_refuses_what_it_does_not_know(
    browsers: dict[str, Client], form: str, posted: dict[str, Any], status: int
) -> None:
    assert browsers["admin"].post(form, posted).status_code == status
    assert not Job.objects.exists()


@pytest.mark.parametrize("name", ["data.zip", ".npz", "own.npz\0.txt", "x.npz/../y", "UPPER CASE/.npz"])
def test_an_upload_has_a_plain_name_or_is_not_stored(browsers: dict[str, Client], name: str) -> None:
    before = sorted(home().rglob("*.npz"))
    browsers["admin"].post("/data-sets/npz/upload", {"file": SimpleUploadedFile(name, b"PK\x03\x04")})
    assert sorted(home().rglob("*.npz")) == before
