"""One training loop that logs, in a process and an environment of its own: `loops.py CLIENT CALLS` prints its times.

It imports one client and the standard library. The loop does nothing but log; the seconds end when all is stored.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

Log = Callable[[dict[str, float], int], Any]
VALUES = ("accuracy", "loss", "f1")


def metrics(number: int, calls: int) -> dict[str, float]:
    return {name: (number + place) / calls for place, name in enumerate(VALUES)}


def tributary_client() -> tuple[Log, Callable[[], Any]]:
    import tributary

    run = tributary.init("Logged", script="loop.py")
    return lambda values, step: run.log(values, round=step), run.finish


def mlflow_client() -> tuple[Log, Callable[[], Any]]:
    import mlflow

    mlflow.start_run()
    return lambda values, step: mlflow.log_metrics(values, step=step), mlflow.end_run


def mlflow_async_client() -> tuple[Log, Callable[[], Any]]:
    import mlflow

    mlflow.start_run()

    def finish() -> None:
        mlflow.flush_async_logging()
        mlflow.end_run()

    return lambda values, step: mlflow.log_metrics(values, step=step, synchronous=False), finish


def trackio_client() -> tuple[Log, Callable[[], Any]]:
    import trackio

    trackio.init(project="logged", name="loop", embed=False, auto_log_gpu=False, auto_log_cpu=False)
    return lambda values, step: trackio.log(values, step=step), trackio.finish


CLIENTS = {
    "tributary": tributary_client,
    "mlflow": mlflow_client,
    "mlflow-async": mlflow_async_client,
    "trackio": trackio_client,
}


def main(client: str, calls: int) -> None:
    log, finish = CLIENTS[client]()
    seconds = []
    began = time.perf_counter()
    for number in range(calls):
        values = metrics(number, calls)
        before = time.perf_counter()
        log(values, number)
        seconds.append(time.perf_counter() - before)
    finish()
    total = time.perf_counter() - began
    seconds.sort()
    result = {"call": seconds[calls // 2], "slow_call": seconds[calls * 99 // 100], "seconds": total}
    if client == "trackio":  # it writes beside itself, so that only it can say what is there
        from trackio.sqlite_storage import SQLiteStorage

        result["stored"] = len(VALUES) * len(SQLiteStorage.get_logs("logged", "loop"))
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
