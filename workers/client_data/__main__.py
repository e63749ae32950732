"""`python -m workers.client_data`: makes one portrait, or one look at a data set, in a process of its own.

Takes `{"spec": {...}}` or `{"dataset": {"name": ...}}` as JSON and answers `{}`, or `{"error": what to do}`.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from workers.catalog import load_catalog
from workers.client_data.holdings import holding_spec
from workers.client_data.overviews import make_look
from workers.client_data.store import make_portrait
from workers.errors import TributaryError


def made(wanted: dict[str, Any]) -> None:
    if "spec" in wanted:
        make_portrait(holding_spec(wanted["spec"]))
    else:
        dataset = load_catalog().datasets[wanted["dataset"]["name"]]
        make_look(dataset, dataset.Params.model_validate(wanted["dataset"]))


def main() -> None:
    try:
        made(json.load(sys.stdin))
    except TributaryError as error:
        json.dump({"error": str(error)}, sys.stdout)
    else:
        json.dump({}, sys.stdout)


if __name__ == "__main__":
    main()
