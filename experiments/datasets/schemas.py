"""Data sets, as REST answers with them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from experiments.api.schemas import Answer, example_config
from workers.data_import.options import ImportOptions


class DatasetAnswer(Answer):
    model_config = example_config(
        name="femnist",
        label="FEMNIST",
        parameters={"name": "femnist", "subset": "digits"},
        ready=False,
        what_to_do="FEMNIST is not here yet: fetch it on the page Data sets.",
        train=341_873,
        test=40_832,
        classes=10,
        shape=[1, 28, 28],
        natural_clients=3383,
        class_names=["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
        bytes=None,
        checksum="",
        licence="CC0",
        paper="Caldas et al. 2018, LEAF",
    )

    name: str
    """What a spec calls it."""
    label: str
    """What people call it."""
    parameters: dict[str, Any]
    """What a spec's `dataset` says to get this one; defaults are left out."""
    ready: bool
    """Whether runs can use it now."""
    what_to_do: str | None
    """Where it is not ready."""
    train: int
    """Training samples."""
    test: int
    """Test samples; 0 where it has no test set of its own."""
    classes: int
    """How many labels there are."""
    shape: list[int]
    """Of one sample."""
    natural_clients: int | None
    """Clients that the data itself has: writers, people; null where it has none."""
    class_names: list[str]
    """In the order of the labels."""
    bytes: int | None
    """On disk; null where it is made when needed, or not here."""
    checksum: str
    """Of what is on disk: part of a run's identity."""
    licence: str
    """Under which it may be used."""
    paper: str
    """Where it comes from."""


class ImportBody(ImportOptions):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "path": "/data/imports/adult.csv",
                    "replace": False,
                    "name": "adult",
                    "target": "income",
                    "leave_out": ["id"],
                    "categories": ["postcode"],
                    "client": "state",
                    "split": "",
                    "test_share": 0.2,
                    "seed": 0,
                    "missing": "fill",
                    "standardise": True,
                    "image_size": None,
                    "colour": "auto",
                }
            ]
        }
    )

    path: str = Field(max_length=1000)
    """A file or folder on the server, below a folder that may be imported from."""
    replace: bool = False
    """Whether a set of that name is replaced, which takes an admin: runs that wait would find other data."""


class ColumnAnswer(Answer):
    model_config = example_config(
        name="job", type="text", role="category", features=2, missing=0, values=2, examples=["cook", "smith"]
    )

    name: str
    """As the table has it."""
    type: str
    """What it holds."""
    role: str
    """target, client, split, number, category, picture, left out, or refused."""
    features: int
    """How many features it becomes."""
    missing: int
    """Rows without a value."""
    values: int | None
    """How many different ones; null where there are too many to be counted, or nobody looked."""
    examples: list[str]
    """The first of them, in the order of classes and categories."""


class ClassCountAnswer(Answer):
    model_config = example_config(name="high", rows=7841)

    name: str
    """Of the class."""
    rows: int
    """How many are of it."""


class PreviewAnswer(Answer):
    model_config = example_config(
        name="adult",
        kind="table (csv)",
        rows=32_561,
        train=26_049,
        test=6_512,
        shape=[108],
        bytes=14_326_840,
        classes=2,
        class_counts=[{"name": "high", "rows": 7841}, {"name": "low", "rows": 24_720}],
        clients=None,
        columns=[],
        problems=[],
        notes=[],
    )

    name: str
    """What a spec's `dataset.set` would call it."""
    kind: str
    """Table, pictures in a table, or pictures in folders."""
    rows: int
    """Rows or pictures."""
    train: int
    """Training samples."""
    test: int
    """Test samples."""
    shape: list[int]
    """Of one sample; empty where nothing could be a feature."""
    bytes: int
    """On disk."""
    classes: int
    """How many; 0 while no target is named."""
    class_counts: list[ClassCountAnswer]
    """Rows of each class, in the order of the labels; of many classes the first 50."""
    clients: int | None
    """Natural clients, where a column names them."""
    columns: list[ColumnAnswer]
    """Of a table, in its order."""
    problems: list[str]
    """What stands against importing it so, each with what to do; nothing does where there are none."""
    notes: list[str]
    """What else is worth knowing."""


class DatasetJobAnswer(Answer):
    model_config = example_config(
        id=7,
        dataset="own",
        kind="import",
        path="/data/imports/adult.csv",
        state="done",
        share=1.0,
        text="26,048 training and 6,512 test samples as adult",
        options={"name": "adult", "target": "income"},
        dry_run=False,
        preview=None,
    )

    id: int
    """Ask for it under this number."""
    dataset: str
    """Of the catalog."""
    kind: Literal["fetch", "import", "verify"]
    """What is done."""
    path: str
    """Where an import reads."""
    state: Literal["queued", "running", "done", "failed"]
    """A job that failed says why in `text`."""
    share: float
    """How much is done, from 0 to 1."""
    text: str
    """What it is at, or how it ended."""
    options: dict[str, Any]
    """As asked for; defaults are left out."""
    dry_run: bool
    """Whether it only looks."""
    preview: PreviewAnswer | None
    """What would be stored, once a dry run is done."""
