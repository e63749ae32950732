"""The one place that touches Flower's private API. Written for Flower 1.41.0; its test fails loudly on a change.

Outside of Flower's own runtime a `Message` needs a task identity to be created, and a request needs a message id
before anything can reply to it.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.supercore.task_identity import TaskIdentity

FLOWER_VERSION = "1.41.0"
SERVER_NODE = 1
LOGGER = "flwr"

Record = TypeVar("Record", ArrayRecord, MetricRecord, RecordDict)

_numbers = itertools.count(1)
_empty: dict[type, Any] = {kind: kind() for kind in (ArrayRecord, MetricRecord, RecordDict)}


def enable_messages() -> None:
    """Lets this process create messages. Inside Flower's runtime (Ray) the identity that is there stays."""
    if TaskIdentity._task_id is None:
        TaskIdentity.task_id = 0
    if TaskIdentity._run_id is None:
        TaskIdentity.run_id = 0
    if TaskIdentity._node_id is None:
        TaskIdentity.node_id = SERVER_NODE


def number_messages(messages: Iterable[Message]) -> list[Message]:
    """Requests with an id each, so that replies can refer to them."""
    numbered = list(messages)
    for message in numbered:
        if not message.metadata.message_id:
            message.metadata.__dict__["_message_id"] = str(next(_numbers))
    return numbered


def record_with(kind: type[Record], items: dict[str, Any]) -> Record:
    """A record of items that are known to be of its types: its checks cost more than a small client's step."""
    record: Record = _empty[kind].copy()
    record.__dict__["_data"] = items
    return record


@contextmanager
def quiet_flower() -> Iterator[None]:
    """Flower logs several lines a round; formatting them costs more than a small round."""
    logger = logging.getLogger(LOGGER)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
