"""Which plugins are found, and what is said of those that cannot be taken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.workers.catalog.plugins.examples import good, write, write_documented
from workers.catalog import load_catalog
from workers.catalog.component import Component
from workers.catalog.plugins import PluginProblem, plugin_components
from workers.catalog.plugins.sources import plugin_folders

BUILT_IN = load_catalog().components


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRIBUTARY_PLUGINS", str(tmp_path))
    return tmp_path


def read() -> tuple[list[Component], list[PluginProblem]]:
    return plugin_components(BUILT_IN)


def names() -> list[str]:
    components, problems = read()
    assert problems == []
    return [f"{each.kind} {each.name}" for each in components]


def only_problem() -> PluginProblem:
    components, problems = read()
    assert components == []
    (problem,) = problems
    return problem


def test_the_documented_files_are_found_in_their_folders(folder: Path) -> None:
    assert write_documented(folder) == [
        "strategies/fed_dyn.py",
        "strategies/fed_per.py",
        "strategies/control_variates.py",
        "strategies/fedclip.py",
        "strategies/_fedclip.py",
        "partitions/dealt.py",
        "models/mlp_16.py",
        "datasets/stripes.py",
    ]
    assert names() == [
        "dataset stripes",
        "model mlp-16",
        "partition dealt",
        "strategy control-variates",
        "strategy fed-dyn",
        "strategy fed-per",
        "strategy fedclip",
    ]


def test_a_file_may_lie_beside_the_folders_or_be_a_package(folder: Path) -> None:
    write(folder, "plain.py", good("plain"))
    write(folder, "packed/__init__.py", "from .inner import Packed")
    write(folder, "packed/inner.py", good("packed"))

    assert names() == ["strategy packed", "strategy plain"]


def test_helpers_and_hidden_folders_are_not_looked_at(folder: Path) -> None:
    for name in ("_helper.py", "_old/broken.py", ".git/broken.py", "strategies/_mine.py", "data/notes.txt"):
        write(folder, name, "raise ValueError")

    assert names() == []


def test_several_folders_are_read_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("two", "one"):
        write(tmp_path / name, "same.py", good(name))
    monkeypatch.setenv("TRIBUTARY_PLUGINS", f"{tmp_path / 'two'}:{tmp_path / 'one'}::{tmp_path / 'two'}")

    assert names() == ["strategy two", "strategy one"]


def test_a_relative_folder_counts_from_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIBUTARY_PLUGINS", "lab/own")

    assert plugin_folders() == [Path(__file__).resolve().parents[4] / "lab" / "own"]


BROKEN = {
    "name = (": "It is no valid Python: '(' was never closed, line 1 of wrong.py.",
    "1 / 0": "ZeroDivisionError: division by zero, line 1 of wrong.py.",
    "import not_installed_here": "ModuleNotFoundError: No module named 'not_installed_here', line 1 of wrong.py.",
    "raise SystemExit(3)": "SystemExit: 3, line 1 of wrong.py.",
    "answer = 42": "It declares no complete component; begin its name with an underscore if it is a helper.",
    "from workers.plugin import Strategy\nclass Wrong(Strategy):\n    name = label = 'wrong'\n": (
        "It declares no complete component: Wrong lacks build()."
    ),
    good("wrong").replace("label", "title"): 'Wrong has no label: give it one, such as label = "...".',
    good("wrong").replace('name = "wrong"', ""): 'Wrong has no name: give it one, such as name = "...".',
    good("wrong").replace('"wrong"', '"Wrong One"'): (
        "The name 'Wrong One' may have small letters, digits, - and _ only."
    ),
    good("wrong") + "    version = '2'\n": "The version of Wrong must be a whole number from 1.",
    good("wrong") + "    Params = dict\n": "Params of Wrong must be a class derived from Parameters.",
    good("wrong") + "    kind = 'strategies'\n": (
        "Wrong is of no kind: derive it from one of Dataset, Model, Partition, Strategy, Optimizer."
    ),
    "from workers.plugin import Parameters\nclass Own(Parameters):\n    mu: float\n"
    + good("wrong")
    + "    Params = Own\n": "Every parameter needs a valid default; look at mu.",
    good("fedavg"): "There is a built-in one of the name fedavg already: give this strategy another name.",
}


@pytest.mark.parametrize(("text", "message"), BROKEN.items(), ids=range(len(BROKEN)))
def test_a_broken_file_is_named_with_what_to_do(folder: Path, text: str, message: str) -> None:
    path = write(folder, "strategies/wrong.py", text)

    assert only_problem() == PluginProblem(str(path), message)


def test_a_broken_file_keeps_nothing_else_out(folder: Path) -> None:
    for number, text in enumerate(BROKEN):
        write(folder, f"wrong_{number}.py", text)
    write(folder, "a_first.py", good("first"))
    write(folder, "z_last.py", good("last"))

    components, problems = read()

    assert [each.name for each in components] == ["first", "last"]
    assert len(problems) == len(BROKEN)


def test_of_two_files_with_one_name_the_first_is_taken(folder: Path) -> None:
    first = write(folder, "a.py", good("mine"))
    second = write(folder, "b.py", good("mine"))

    components, (problem,) = read()

    assert [each.origin for each in components] == [str(first)]
    assert problem.place == str(second)
    assert problem.message == (
        f"There is the one in {first} of the name mine already: give this strategy another name."
    )


def test_a_kind_in_the_wrong_folder_is_told(folder: Path) -> None:
    write(folder, "partitions/mine.py", good("mine"))

    assert only_problem().message == "Mine is a strategy, but lies in a folder for each partition: move it."


def test_a_folder_that_is_not_read_is_told(folder: Path) -> None:
    write(folder, "strategy/mine.py", good("mine"))

    assert only_problem() == PluginProblem(
        str(folder / "strategy"),
        "Nothing is read from a folder of this name: call it one of "
        "datasets/, models/, partitions/, strategies/, optimizers/.",
    )


def test_a_folder_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRIBUTARY_PLUGINS", str(tmp_path / "gone"))

    assert only_problem().message == "There is no such folder: make it, or correct TRIBUTARY_PLUGINS."


def test_a_data_set_that_cannot_say_what_it_is_is_left_out(folder: Path) -> None:
    write_documented(folder)
    path = folder / "datasets" / "stripes.py"
    path.write_text(path.read_text().replace("return DatasetFacts(", "return tuple("))

    components, (problem,) = read()

    assert "stripes" not in [each.name for each in components]
    assert problem.message == "TypeError: tuple expected at most 1 argument, got 4, line 18 of stripes.py."


def test_entry_points_name_a_module_or_a_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "lab_parts_a.py", good("whole"))
    write(tmp_path, "lab_parts_b.py", good("one") + good("other"))
    info = tmp_path / "lab_parts-1.0.dist-info"
    write(info, "METADATA", "Metadata-Version: 2.1\nName: lab-parts\nVersion: 1.0\n")
    write(
        info,
        "entry_points.txt",
        "[tributary.components]\na = lab_parts_a\nb = lab_parts_b:One\nc = lab_parts_c\nd = lab_parts_b:__name__\n",
    )
    monkeypatch.syspath_prepend(str(tmp_path))

    components, problems = read()

    assert [each.name for each in components] == ["whole", "one"]
    assert [str(each) for each in problems] == [
        "entry point c = lab_parts_c of lab-parts: ModuleNotFoundError: No module named 'lab_parts_c'.",
        "entry point d = lab_parts_b:__name__ of lab-parts: "
        "'lab_parts_b' is no component: name a module or a class derived from Component.",
    ]


def test_another_content_is_another_identity(folder: Path) -> None:
    """Of the file itself or of a helper that it imports; neighbours do not matter. Read anew as after a restart."""
    importing = "from . import _helper\n" + good("one")
    write(folder, "0.py", good("one"))
    changes = [("_helper.py", ""), ("0.py", importing), ("_helper.py", "a = 1"), ("two.py", good("two"))]
    seen = []
    for name, text in changes:
        write(folder, name, text)
        seen.append(in_a_process(folder, "load_catalog().strategies['one'].stamp"))

    first, changed, helped, neighboured = seen
    assert len({first, changed, helped}) == 3
    assert neighboured == helped
    assert first.startswith("1+")


def in_a_process(folder: Path, expression: str) -> str:
    script = f"import sys; from workers.catalog import load_catalog; print({expression})"
    return subprocess.run(
        [sys.executable, "-B", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"TRIBUTARY_PLUGINS": str(folder), "PYTHONPATH": str(Path(__file__).resolve().parents[4])},
    ).stdout.strip()


@pytest.mark.parametrize(
    ("statement", "library", "file"),
    [
        ("import torch", "torch", "heavy"),
        ("from torch import nn", "torch", "heavy"),
        ("import flwr.app", "flwr", "heavy"),
        ("import ray", "ray", "heavy"),
        ("from workers.plugin import Method", "torch", "heavy"),
        ("from workers.engine.method import Method", "torch", "heavy"),
        ("from . import _server", "torchvision", "_server"),
    ],
)
def test_a_heavy_import_at_module_level_is_refused_and_not_done(
    folder: Path, statement: str, library: str, file: str
) -> None:
    write(folder, "_server.py", "import torchvision")
    write(folder, "heavy.py", statement + good("heavy"))
    write(folder, "light.py", good("light"))

    printed = in_a_process(
        folder,
        "[each.message for each in load_catalog().problems], 'light' in load_catalog().strategies, "
        "[name for name in ('torch', 'torchvision', 'flwr', 'ray') if name in sys.modules]",
    )

    assert printed == (
        f"['It imports {library} at module level, line 1 of {file}.py, which the web server must not load: "
        "import it inside build(), or in a private file that build() imports.'] True []"
    )


def test_a_count_of_parameters_that_builds_the_model_is_told_as_that(folder: Path) -> None:
    """In a process of its own: here torch may be loaded already, and then nothing is refused."""
    write_documented(folder)
    path = folder / "models" / "mlp_16.py"
    counted = "return (elements(shape) + 1) * 16 + 17 * classes"
    assert counted in path.read_text()
    path.write_text(
        path.read_text().replace(
            counted, "return sum(p.numel() for p in self.build(shape, classes, params).parameters())"
        )
    )

    assert in_a_process(folder, "[problem.message for problem in load_catalog().problems]") == str(
        [
            "Its parameter_count() needs torch through build(), line 24 of mlp_16.py, but the web server asks it too "
            "and must not load torch: let parameter_count() work it out from its arguments alone."
        ]
    )
