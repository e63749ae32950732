"""`python -m workers.client_data`: describes the clients of one spec, or one data set, in a process of its own.

Takes `{"spec": {...}}` or `{"dataset": {"name": ...}}` as JSON and answers `{}`, or `{"error": what to do}`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from workers.catalog import load_catalog
from workers.client_data.assignment import federation_spec
from workers.client_data.overviews import make_overview
from workers.client_data.store import make_distribution
from workers.errors import TributaryError


def answer_request(request: dict[str, Any]) -> None:
    if "spec" in request:
        make_distribution(federation_spec(request["spec"]))
    else:
        dataset = load_catalog().datasets[request["dataset"]["name"]]
        make_overview(dataset, dataset.Params.model_validate(request["dataset"]))


def main() -> None:
    try:
        answer_request(json.load(sys.stdin))
    except TributaryError as error:
        json.dump({"error": str(error)}, sys.stdout)
    else:
        json.dump({}, sys.stdout)


if __name__ == "__main__":
    main()
