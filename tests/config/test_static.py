import gzip
import re
from importlib import resources

import pytest
from django.conf import settings

pytestmark = pytest.mark.django_db  # the end of any request looks at the connection, where a test before left one open
PLOTLY = "/static/vendor/plotly-cartesian.min.js"
VERSION = re.compile(r"plotly\.js (?:\(cartesian - minified\) )?v([0-9.]+)")


def test_scripts_are_served_from_here_and_from_installed_packages(client):
    assert client.get(PLOTLY).status_code == 200
    assert client.get("/static/django_htmx/htmx-2.min.js").status_code == 200
    assert client.get("/static/nothing.js").status_code in (302, 404)


def test_plotlys_bundle_is_of_the_version_that_python_has():
    """Figures are checked against the one and drawn by the other."""
    ours = settings.ROOT.joinpath("static/vendor/plotly-cartesian.min.js").read_text()[:200]
    theirs = resources.files("plotly").joinpath("package_data/plotly.min.js").read_text()[:200]
    assert VERSION.search(ours).group(1) == VERSION.search(theirs).group(1)


def test_large_texts_travel_compressed(client):
    plain = client.get(PLOTLY)
    packed = client.get(PLOTLY, headers={"Accept-Encoding": "gzip, br"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Content-Length"] == str(len(packed.content))
    assert packed.headers["Vary"] == "Accept-Encoding"
    assert len(packed.content) < len(plain.content) / 3
    assert gzip.decompress(packed.content) == plain.content


def test_a_browser_that_has_a_file_is_not_sent_it_again(client):
    tag = client.get(PLOTLY).headers["ETag"]
    again = client.get(PLOTLY, headers={"If-None-Match": tag, "Accept-Encoding": "gzip"})
    assert (again.status_code, again.content) == (304, b"")


def test_a_part_of_a_file_can_be_asked_for(client):
    part = client.get(PLOTLY, headers={"Range": "bytes=0-9", "Accept-Encoding": "gzip"})
    assert (part.status_code, len(part.content)) == (206, 10)
    assert "Content-Encoding" not in part.headers


def test_nothing_outside_the_static_folders_is_served(client):
    assert settings.ROOT.joinpath("manage.py").exists()
    assert client.get("/static/../manage.py").status_code in (302, 404)
    assert client.get("/static/vendor/../../../../../manage.py").status_code in (302, 404)


def test_head_tells_the_size_without_the_file(client):
    answer = client.head(PLOTLY)
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 1_000_000
