"""`python -m workers.portraits < spec.json`: makes one portrait in a process of its own and says how that went."""

from __future__ import annotations

import json
import sys

from workers.errors import TributaryError
from workers.portraits.holdings import holding_spec
from workers.portraits.store import make_portrait


def main() -> None:
    try:
        make_portrait(holding_spec(json.load(sys.stdin)))
    except TributaryError as error:
        json.dump({"error": str(error)}, sys.stdout)
    else:
        json.dump({}, sys.stdout)


if __name__ == "__main__":
    main()
