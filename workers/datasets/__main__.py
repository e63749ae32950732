"""`python -m workers.datasets PARENT`: fetches, imports or verifies one data set, in a process of its own.

Takes `{"dataset": name, "kind": "fetch" | "import" | "verify", "path": ..., "within": [folders], "replace": bool,
"options": {...}, "dry_run": bool}` as JSON. Each line of its answer is an event: `progress` with `share` and `text`,
and at the end `answer` with `text` (and the `preview` of a dry run), or with an `error` that says what to do.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workers.catalog import load_catalog
from workers.data_import.options import parse_options
from workers.datasets._cache import Manifest
from workers.datasets._fetch import Report
from workers.datasets._imported import ImportedDataset
from workers.datasets.own import Own
from workers.errors import DatasetError, TributaryError
from workers.queue.computing import EventPipe, end_with_parent

NO_MEMORY = "The server has not enough memory for this data set."


def carry_out(request: Mapping[str, Any], events: EventPipe) -> dict[str, Any]:
    """What is told when it is done."""
    dataset = load_catalog().datasets[request["dataset"]]
    if not isinstance(dataset, ImportedDataset):
        raise DatasetError(f"{dataset.name} is made here whenever it is needed.")
    if request["kind"] == "verify":
        return {"text": verify_dataset(dataset)}

    def report(share: float, text: str) -> None:
        events.send("progress", share=share, text=text)

    if request["kind"] == "fetch":
        return {"text": samples_text(dataset.fetch(report, replace=request["replace"]))}
    within = [Path(folder) for folder in request["within"]]
    if isinstance(dataset, Own):
        return import_own(dataset, request, within, report)
    manifests = dataset.import_path(request["path"], report, within=within, replace=request["replace"])
    return {"text": samples_text(manifests)}


def import_own(dataset: Own, request: Mapping[str, Any], within: list[Path], report: Report) -> dict[str, Any]:
    options = parse_options(request["options"])
    if request["dry_run"]:
        preview = dataset.preview(request["path"], options, report, within=within)
        return {"text": "Read, and nothing stored.", "preview": preview.as_json()}
    manifests = dataset.import_path(request["path"], report, within=within, replace=request["replace"], options=options)
    return {"text": f"{samples_text(manifests)} as {', '.join(manifests).removeprefix('own-')}"}


def samples_text(manifests: Mapping[str, Manifest]) -> str:
    return "; ".join(f"{each.train:,} training and {each.test:,} test samples" for each in manifests.values())


def verify_dataset(dataset: ImportedDataset) -> str:
    if problems := dataset.verify():
        raise DatasetError(" ".join(problems))
    return "Every file is what was written."


def main() -> None:
    end_with_parent()
    events, request = EventPipe(), json.load(sys.stdin)
    try:
        events.send("answer", **carry_out(request, events))
    except TributaryError as error:
        events.send("answer", error=error.detail)
    except MemoryError:
        events.send("answer", error=NO_MEMORY)


if __name__ == "__main__":
    main()
