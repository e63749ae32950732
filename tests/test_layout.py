import platform
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["platform/config", "experiments", "workers", "templates", "static", "docker", "tests", "docs"]
FILES = [
    "manage.py",
    "Makefile",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
    "requirements.txt",
    "pyproject.toml",
    ".ci/run",
]


def test_the_project_folder_does_not_hide_the_standard_library():
    assert not (ROOT / "platform" / "__init__.py").exists()
    assert not (ROOT / "tests" / "platform").exists()
    assert not Path(platform.__file__).is_relative_to(ROOT)
    assert platform.python_implementation() == "CPython"


def test_commands_see_the_standard_librarys_platform():
    code = "import manage; manage.add_to_path(); import platform, config; print(platform.system(), config.__name__)"
    seen = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout == "Linux config\n"


def test_the_top_level_is_as_designed():
    assert [folder for folder in FOLDERS if not (ROOT / folder).is_dir()] == []
    assert [file for file in FILES if not (ROOT / file).is_file()] == []


def test_ci_runs_the_readmes_test_command_and_tries_what_failed_once_more():
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line.strip() for line in lines if line and not line.startswith("#")]
    assert commands[:2] == ["set -eu", "make test || {"]
    assert [line for line in commands[2:] if "pytest" in line] == [
        ".venv/bin/python -m pytest -q --last-failed --last-failed-no-failures none"
    ]
    assert "make test" in (ROOT / "README.md").read_text()


def test_what_the_makefile_leaves_to_make_test_exists():
    slow = re.search(r"^SLOW := ((?:.*\\\n)*.*)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    places = slow[1].replace("\\\n", " ").split()
    assert "tests/e2e" in places
    for place in places:
        path, _, test = place.partition("::")
        assert (ROOT / path).exists(), place
        assert not test or f"\ndef {test}(" in (ROOT / path).read_text(), place


def test_every_requirement_is_pinned():
    for name in ("requirements.txt", "tests/requirements.txt", "docker/requirements-web.txt"):
        for line in (ROOT / name).read_text().splitlines():
            assert not line or line.startswith("#") or "==" in line, f"{name}: {line}"


def test_the_way_of_the_data_in_the_docs_leads_through_files_that_exist():
    page = (ROOT / "docs" / "architecture.md").read_text()
    way = page.split("<!-- the way", 1)[1].split("<!-- /the way", 1)[0]
    files = re.findall(r"^\| [^|]*\| `([^`]+)` \|", way, re.MULTILINE)
    assert 15 <= len(files) <= 25
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_every_file_that_the_docs_name_exists():
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    pattern = re.compile(r"`((?:experiments|workers|platform|benchmarks|tests|templates|static)/[\w/.-]+\.\w+)`")
    named = {(page.name, file) for page in pages for file in pattern.findall(page.read_text())}
    named -= {("README.md", "platform/__init__.py")}  # the one that must not exist
    assert sorted((page, file) for page, file in named if not (ROOT / file).exists()) == []
