"""Legacy servers call clients from a pool of threads, and gather replies as threads end. Here: one after another.

Generators and Flower's identity of a node are global in a process, and sums depend on the order of their terms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flwr.common import Code
from flwr.server import server as legacy_server

from workers.errors import TributaryError


def serialise_clients() -> None:
    """Must come before the app's modules are imported: they may import these functions by name."""
    legacy_server.fit_clients = in_order(legacy_server.fit_client)
    legacy_server.evaluate_clients = in_order(legacy_server.evaluate_client)


def in_order(call: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[list[Any], list[Any]]]:
    def call_clients(
        client_instructions: list[tuple[Any, Any]], max_workers: int | None, timeout: float | None, group_id: int
    ) -> tuple[list[Any], list[Any]]:
        results: list[Any] = []
        failures: list[Any] = []
        for client, instruction in client_instructions:
            try:
                client, reply = call(client, instruction, timeout, group_id)
            except TributaryError:
                raise
            except Exception as error:
                failures.append(error)
                continue
            (results if reply.status.code == Code.OK else failures).append((client, reply))
        return results, failures

    return call_clients
