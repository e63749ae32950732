"""`python -m workers.apps.install NAME HASH`: makes the environment of an app whose dependencies are not met here."""

from __future__ import annotations

import sys

from workers.apps.environments import make_environment
from workers.apps.library import find_version
from workers.errors import TributaryError


def main(name: str, digest: str) -> int:
    try:
        make_environment(find_version(name, digest))
    except TributaryError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
