"""Hears what strategies do by wrapping their public methods, current and legacy; their results pass unchanged."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from flwr.app import ArrayRecord

from workers.apps.runtime.records import flat_metrics, named_arrays
from workers.apps.runtime.rounds import EVALUATE, TRAIN, RoundBook

Method = Callable[..., Any]


class StrategyObserver:
    """`model` is what the last aggregation gave: arrays by name."""

    def __init__(self, book: RoundBook) -> None:
        self.book = book
        self.depth: dict[str, int] = {}
        self.model: dict[str, Any] = {}

    def observe_all(self) -> None:
        """Every strategy class that is loaded by now: call it after the app's modules were imported."""
        from flwr.serverapp.strategy import Strategy

        for kind in subclasses(Strategy):
            self.wrap(kind, "start", self.wrap_start)
            self.wrap(kind, "configure_train", self.wrap_configure)
            self.wrap(kind, "aggregate_train", self.wrap_aggregate_train)
            self.wrap(kind, "aggregate_evaluate", self.wrap_aggregate_evaluate)

    def observe_legacy(self) -> None:
        from flwr.server.strategy import Strategy

        for kind in subclasses(Strategy):
            self.wrap(kind, "configure_fit", self.wrap_configure)
            self.wrap(kind, "aggregate_fit", self.wrap_aggregate_fit)
            self.wrap(kind, "aggregate_evaluate", self.wrap_legacy_evaluate)
            self.wrap(kind, "evaluate", self.wrap_legacy_server)

    def wrap(self, kind: type, name: str, make: Callable[[Method], Method]) -> None:
        """Only the class's own method, and only the outermost call of it: a strategy may contain or extend another."""
        method = vars(kind).get(name)
        if method is None or not inspect.isfunction(method) or getattr(method, "__isabstractmethod__", False):
            return
        heard = make(method)

        @functools.wraps(method)
        def outermost(*arguments: Any, **named: Any) -> Any:
            nested = self.depth.get(name, 0)
            self.depth[name] = nested + 1
            try:
                return (method if nested else heard)(*arguments, **named)
            finally:
                self.depth[name] = nested

        setattr(kind, name, outermost)

    def wrap_start(self, method: Method) -> Method:
        signature = inspect.signature(method)

        def start(*arguments: Any, **named: Any) -> Any:
            bound = signature.bind(*arguments, **named)
            self.book.begin_strategy(from_zero=bound.arguments.get("evaluate_fn") is not None)
            if (evaluate := bound.arguments.get("evaluate_fn")) is not None:
                bound.arguments["evaluate_fn"] = self.wrap_evaluate_fn(evaluate)
            result = method(*bound.args, **bound.kwargs)
            self.book.close()
            return result

        return start

    def wrap_evaluate_fn(self, evaluate: Method) -> Method:
        @functools.wraps(evaluate)
        def heard(number: int, *arguments: Any, **named: Any) -> Any:
            metrics = evaluate(number, *arguments, **named)
            if metrics is not None:
                self.book.record_server(number, flat_metrics(metrics))
            return metrics

        return heard

    def wrap_configure(self, method: Method) -> Method:
        def configure(strategy: Any, server_round: int, *arguments: Any, **named: Any) -> Any:
            self.book.begin(server_round)
            return method(strategy, server_round, *arguments, **named)

        return configure

    def wrap_aggregate_train(self, method: Method) -> Method:
        def aggregate(strategy: Any, server_round: int, *arguments: Any, **named: Any) -> Any:
            result = method(strategy, server_round, *arguments, **named)
            arrays, metrics = result
            if isinstance(arrays, ArrayRecord):
                self.model = named_arrays(arrays)
            self.book.record_aggregate(TRAIN, server_round, flat_metrics(metrics or {}))
            return result

        return aggregate

    def wrap_aggregate_evaluate(self, method: Method) -> Method:
        def aggregate(strategy: Any, server_round: int, *arguments: Any, **named: Any) -> Any:
            metrics = method(strategy, server_round, *arguments, **named)
            self.book.record_aggregate(EVALUATE, server_round, flat_metrics(metrics or {}))
            return metrics

        return aggregate

    def wrap_aggregate_fit(self, method: Method) -> Method:
        from flwr.common import parameters_to_ndarrays

        def aggregate(strategy: Any, server_round: int, *arguments: Any, **named: Any) -> Any:
            result = method(strategy, server_round, *arguments, **named)
            parameters, metrics = result
            if parameters is not None:
                self.model = {str(place): array for place, array in enumerate(parameters_to_ndarrays(parameters))}
            self.book.record_aggregate(TRAIN, server_round, flat_metrics(metrics or {}))
            return result

        return aggregate

    def wrap_legacy_evaluate(self, method: Method) -> Method:
        def aggregate(strategy: Any, server_round: int, *arguments: Any, **named: Any) -> Any:
            result = method(strategy, server_round, *arguments, **named)
            self.book.record_aggregate(EVALUATE, server_round, loss_and_metrics(result))
            return result

        return aggregate

    def wrap_legacy_server(self, method: Method) -> Method:
        def evaluate(strategy: Any, server_round: int, *arguments: Any, **named: Any) -> Any:
            result = method(strategy, server_round, *arguments, **named)
            if result is not None:
                self.book.record_server(server_round, loss_and_metrics(result))
            return result

        return evaluate


def loss_and_metrics(result: Any) -> dict[str, float]:
    loss, metrics = result
    return {**({} if loss is None else {"loss": float(loss)}), **flat_metrics(metrics or {})}


def subclasses(kind: type) -> Iterator[type]:
    """The class and all below it, each once."""
    waiting, seen = [kind], set[type]()
    while waiting:
        each = waiting.pop()
        if each not in seen:
            seen.add(each)
            yield each
            waiting.extend(each.__subclasses__())
