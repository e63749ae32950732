import gzip
import re
from importlib import resources

import pytest
from config.static import static_version
from django.conf import settings
from django.templatetags.static import static

pytestmark = pytest.mark.django_db  # the end of any request looks at the connection, where a test before left one open
PLOTLY = static("vendor/plotly-cartesian.min.js")
VERSION = re.compile(r"plotly\.js (?:\(cartesian - minified\) )?v([0-9.]+)")


def test_scripts_are_served_from_here_and_from_installed_packages(client):
    assert client.get(PLOTLY).status_code == 200
    assert client.get(static("django_htmx/htmx-2.min.js")).status_code == 200
    assert client.get(static("nothing.js")).status_code in (302, 404)


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
    for path in ("../manage.py", "vendor/../../../../../manage.py"):
        assert client.get(f"{settings.STATIC_URL}{path}").status_code in (302, 404)


def test_the_address_of_every_file_changes_with_the_content_of_any(tmp_path):
    """Modules import each other by relative paths: a browser must never mix those of two versions."""
    (tmp_path / "js").mkdir()
    (tmp_path / "js" / "a.js").write_text('import "./b.js"')
    (tmp_path / "js" / "b.js").write_text("one")
    first = static_version(tmp_path)
    assert re.fullmatch("[0-9a-f]{12}", first)
    (tmp_path / "js" / "b.js").touch()
    assert static_version(tmp_path) == first
    (tmp_path / "js" / "b.js").write_text("two")
    assert static_version(tmp_path) != first
    assert static("js/app.js") == f"/static/{static_version(settings.ROOT / 'static')}/js/app.js"


def test_browsers_keep_files_for_good_and_those_of_another_version_are_not_there(client):
    assert client.get(PLOTLY).headers["Cache-Control"] == "max-age=315360000, public, immutable"
    for path in ("/static/vendor/plotly-cartesian.min.js", "/static/0123456789ab/vendor/plotly-cartesian.min.js"):
        assert client.get(path).status_code in (302, 404)


def test_head_tells_the_size_without_the_file(client):
    answer = client.head(PLOTLY)
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 1_000_000
