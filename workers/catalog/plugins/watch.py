"""A lab's own data set that was sound when it was read may fail later: its file went, its server is away.

Pages ask all data sets at once, so none may break them: what was known before is answered instead, the set counts as
not available with the reason, and the problem is told until the same method answers again.
"""

from __future__ import annotations

from typing import Any

from workers.catalog.component import Dataset
from workers.catalog.plugins.checks import PluginProblem, describe_fault
from workers.errors import TributaryError

dataset_failures: dict[tuple[str, str], PluginProblem] = {}
"""By data set and method."""


class PluginDataError(TributaryError):
    """A lab's own data set cannot be loaded."""


class WatchedMethod:
    """A method of a data set, with its last answer in place of a failure."""

    def __init__(self, dataset: Dataset, name: str) -> None:
        self.dataset, self.name = dataset, name
        self.method = getattr(dataset, name)
        self.last_answer: Any = None

    def __call__(self, *params: Any) -> Any:
        key = (self.dataset.name, self.name)
        try:
            answer = self.method(*params)
        except (Exception, SystemExit) as error:
            problem = PluginProblem(self.dataset.origin, f"{self.name}() failed. {describe_fault(error)}")
            dataset_failures[key] = problem
            return self.on_failure(problem, error)
        dataset_failures.pop(key, None)
        return self.on_answer(answer)

    def on_failure(self, problem: PluginProblem, error: BaseException) -> Any:
        return self.last_answer

    def on_answer(self, answer: Any) -> Any:
        self.last_answer = answer
        return answer


class WatchedAvailability(WatchedMethod):
    """None while every method answers; a load that failed may be tried again."""

    def on_failure(self, problem: PluginProblem, error: BaseException) -> str:
        return f"Mend it first. {problem}"

    def on_answer(self, answer: Any) -> Any:
        failures = dataset_failures.copy().items()
        problems = [problem for (name, method), problem in failures if name == self.dataset.name and method != "load"]
        return answer or (f"Mend it first. {problems[0]}" if problems else None)


class WatchedLoad(WatchedMethod):
    """Data are too large to be remembered."""

    def on_failure(self, problem: PluginProblem, error: BaseException) -> Any:
        raise PluginDataError(str(problem)) from error

    def on_answer(self, answer: Any) -> Any:
        return answer


WATCHED_METHODS: dict[str, type[WatchedMethod]] = {
    "editions": WatchedMethod,
    "facts": WatchedMethod,
    "checksum": WatchedMethod,
    "loads_at_once": WatchedMethod,
    "available": WatchedAvailability,
    "load": WatchedLoad,
}


def watch_dataset(dataset: Dataset) -> Dataset:
    """The data set, its methods watched from now on. What it answers now is remembered."""
    for name, kind in WATCHED_METHODS.items():
        setattr(dataset, name, kind(dataset, name))
    for params in dataset.editions():
        dataset.facts(params)
        dataset.checksum(params)
    return dataset
