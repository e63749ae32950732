"""Times what the platform adds to the engine, on its embedded PostgreSQL with durable settings and a real worker.

python -m benchmarks.platform               everything, some minutes; writes benchmarks/results/
python -m benchmarks.platform --quick       small numbers: does every measure still work?
python -m benchmarks.platform --publish     also puts the table into docs/benchmarks.md
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.engine import RESULTS, facts
from benchmarks.plan import ROOT
from benchmarks.platform_report import MARKS, missed, table
from benchmarks.report import publish

if TYPE_CHECKING:
    from config.home import Home
    from config.services.postgres import Postgres
    from config.services.redis import Redis

PAGE = ROOT / "docs" / "benchmarks.md"


def main(arguments: Sequence[str] | None = None) -> int:
    given = parsed(arguments)
    machine = facts()
    with platform():
        # Django reads its settings from the environment that is set by now.
        from benchmarks.platform_measures import SIZES, Sizes, measured

        results = {"machine": machine, "measures": measured(Sizes.small() if given.quick else SIZES)}
    text = table(results)
    print(f"\n{text}\n")
    for line in missed(results["measures"]):
        print(f"over its limit: {line}")
    if not given.quick:
        keep("platform", results, text)
    if given.publish and not given.quick:
        show(PAGE, text, MARKS)
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--publish", action="store_true")
    return parser.parse_args(arguments)


@contextmanager
def platform(**settings: str) -> Iterator[tuple[Home, Postgres, Redis]]:
    """PostgreSQL and Redis as `make up` starts them, in a home that is gone afterwards, and Django set up for them."""
    sys.path[:0] = [str(ROOT / "platform")]
    from config.home import Home
    from config.processes import environment
    from config.services.postgres import Postgres
    from config.services.redis import Redis

    home = Home(Path(tempfile.mkdtemp(prefix="tributary-bench-")))
    postgres, redis = Postgres(home=home), Redis(home=home)
    try:
        postgres.start()
        redis.start()
        addresses = {"DATABASE_URL": postgres.url, "REDIS_URL": redis.url, "TRIBUTARY_HOME": str(home.path)}
        os.environ |= environment(**addresses, TRIBUTARY_MAX_WAITING="1000000", **settings)
        migrate()
        yield home, postgres, redis
    finally:
        redis.stop()
        postgres.erase()
        shutil.rmtree(home.path, ignore_errors=True)


def migrate() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0, interactive=False)


def keep(name: str, results: Mapping[str, Any], text: str) -> None:
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=2) + "\n")
    (RESULTS / f"{name}.md").write_text(text + "\n")


def show(page: Path, text: str, marks: tuple[str, str]) -> None:
    print(f"{page.name}: {'table written' if publish(page, text, marks) else 'has no place for the table'}")


if __name__ == "__main__":
    sys.exit(main())
