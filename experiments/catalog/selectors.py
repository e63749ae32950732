"""What is wrong with a lab's own components, in the words of whoever found it: this process, or a living worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from experiments.models import Worker
from experiments.queue.selectors.workers import living_workers
from workers.catalog import Catalog, load_catalog

WEB_SERVER = "web server"
NOT_ON_WORKER = "is not on this worker: copy its file there, then start the worker again."
NOT_ON_WEB_SERVER = "is not on the web server: copy its file there, then start it again."
OTHER_CODE = "has other code than on the web server: copy its file, then start both again."
HoldersByProblem = dict[str, list[str]]
"""By problem, who has it."""


def component_problems(workers: Iterable[Worker] | None = None, catalog: Catalog | None = None) -> HoldersByProblem:
    own_catalog = catalog or load_catalog()
    holders: HoldersByProblem = {str(problem): [WEB_SERVER] for problem in own_catalog.problems}
    for worker in living_workers() if workers is None else workers:
        for problem in [*worker.facts.get("problems", ()), *plugin_differences(worker.facts, own_catalog)]:
            holders.setdefault(str(problem), []).append(worker.name)
    return holders


def plugin_differences(facts: Mapping[str, Any], own_catalog: Catalog) -> list[str]:
    """Components that the worker lacks or has otherwise: a run must not depend on who computes it."""
    here, there = own_catalog.plugin_stamps, facts.get("plugins", {})
    problems = {
        **dict.fromkeys(here.keys() - there.keys(), NOT_ON_WORKER),
        **dict.fromkeys(there.keys() - here.keys(), NOT_ON_WEB_SERVER),
        **{name: OTHER_CODE for name in here.keys() & there.keys() if here[name] != there[name]},
    }
    return [f"The {name} {problems[name]}" for name in sorted(problems)]
