"""A Flower `Grid` in the app's own process: a message to a node is a call of the ClientApp, in the order given.

Node ids are fixed, replies come in the order of their requests, and every client's message is computed with
generators seeded for it: the same app, config and seed give the same numbers, to the bit.
"""

from __future__ import annotations

import itertools
import logging
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import Any

from flwr.app import Error, Message, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.serverapp import Grid
from flwr.supercore.run import Run

from workers.apps.package import AppError
from workers.apps.runtime import records
from workers.apps.runtime.clients import FIRST_NODE, RUN_ID, ClientAnswer, Clients, enter_node
from workers.apps.runtime.journal import REPLY, Entry, Journal
from workers.apps.runtime.rounds import RoundBook

MOST_WAITS = 5
"""Times in a row, for each client, that an app may ask for nodes and send nothing: more is waiting in vain."""
EMPTY_STATE = records.digest(RecordDict())
logger = logging.getLogger(__name__)


class ReplayMismatch(BaseException):
    """The app does other things than it did before: its stored replies are of no use.

    No app's `except Exception` shall take it for a failed round.
    """


class InProcessGrid(Grid):
    """The grid of a run: its clients, what it tells the round book, and the journal of what they answered."""

    def __init__(self, clients: Clients, *, book: RoundBook, journal: Journal, replay: Iterable[Entry] = ()) -> None:
        self.clients, self.book, self.journal = clients, book, journal
        self.nodes = list(clients.states)
        self.stored_states: dict[int, str] = {}
        self.replay = deque(replay)
        self.numbers = itertools.count(1)
        self.messages: Counter[int] = Counter()
        self.unread_replies: dict[str, Message] = {}
        self.waits = 0
        self.timeouts = 0
        enter_node(SUPERLINK_NODE_ID)

    def set_run(self, run: Any) -> None:
        """Flower's interface; there is one run in this process."""

    @property
    def run(self) -> Run:
        return Run.create_empty(RUN_ID)

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> list[int]:
        self.waits += 1
        if self.waits > MOST_WAITS * len(self.nodes):
            raise AppError(
                f"The app waits for more nodes than the run's {len(self.nodes)} clients: raise `clients`, or lower "
                "what its strategy asks for (min_available_nodes, min_train_nodes, min_evaluate_nodes)."
            )
        return list(self.nodes)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        replies = self.exchange(messages, None)
        self.unread_replies |= {reply.metadata.reply_to_message_id: reply for reply in replies}
        return [reply.metadata.reply_to_message_id for reply in replies]

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        return [self.unread_replies.pop(each) for each in message_ids if each in self.unread_replies]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> list[Message]:
        return self.exchange(messages, timeout)

    def exchange(self, messages: Iterable[Message], timeout: float | None) -> list[Message]:
        """As in a network, replies that are not there in time are left out: such a run cannot be repeated exactly."""
        requests = [request for request in messages if self.has_node(request)]
        deadline = None if timeout is None else monotonic() + timeout
        if requests:
            self.waits = 0
            self.book.before_exchange(requests[0].metadata.message_type, requests[0].metadata.group_id)
        replies = []
        stored, new = requests[: len(self.replay)], requests[len(self.replay) :]
        for request in stored:
            self.number(request)
            replies.append(self.reply(request, self.replayed_answer(request)))
        while new:
            if deadline is not None and monotonic() > deadline:
                self.timeouts += len(new)
                logger.warning("%s replies were not there within %g seconds.", len(new), timeout)
                break
            size = len(new) if self.clients.worth_a_pool else 1
            batch, new = new[:size], new[size:]
            replies += self.compute_replies(batch)
        return replies

    def has_node(self, request: Message) -> bool:
        if (node := request.metadata.dst_node_id) in self.clients.states:
            return True
        logger.warning("A message to node %s was dropped: there is none.", node)
        return False

    def number(self, request: Message) -> int:
        """Of the message among those to its node."""
        request.metadata.__dict__["_message_id"] = str(next(self.numbers))
        self.messages[request.metadata.dst_node_id] += 1
        return self.messages[request.metadata.dst_node_id]

    def compute_replies(self, requests: Sequence[Message]) -> list[Message]:
        numbered = [(request, self.number(request)) for request in requests]
        digests = [records.digest(request.content) for request in requests]
        replies = []
        for request, requested, answer in zip(requests, digests, self.clients.call(numbered), strict=True):
            self.store(request, requested, answer)
            replies.append(self.reply(request, answer.answer))
        return replies

    def store(self, request: Message, requested: str, answer: ClientAnswer) -> None:
        """The client's state only where it changed."""
        node = request.metadata.dst_node_id
        fields: dict[str, Any] = {"node": node, "type": request.metadata.message_type, "request": requested}
        state_digest, state = records.digest(answer.state), b""
        if state_digest != self.stored_states.get(node, EMPTY_STATE):
            self.stored_states[node], state = state_digest, records.to_bytes(answer.state)
            fields["state"] = len(state)
        if isinstance(answer.answer, Error):
            fields["error"] = [answer.answer.code, answer.answer.reason]
            logger.error("Client %s failed:\n%s", node - FIRST_NODE, answer.trace.rstrip() or answer.answer.reason)
            content = b""
        else:
            content = records.to_bytes(answer.answer)
        self.journal.append(Entry(REPLY, fields, state + content))

    def reply(self, request: Message, answer: RecordDict | Error) -> Message:
        """The answer as a message, told to the round book."""
        node, failed = request.metadata.dst_node_id, isinstance(answer, Error)
        content = RecordDict() if isinstance(answer, Error) else answer
        self.book.record_reply(
            request.metadata.message_type,
            node - FIRST_NODE,
            records.metrics_in(content),
            down=records.count_bytes(request.content),
            up=records.count_bytes(content),
            failed=failed,
        )
        enter_node(node)
        try:
            return Message(answer, reply_to=request)
        finally:
            enter_node(SUPERLINK_NODE_ID)

    def replayed_answer(self, request: Message) -> RecordDict | Error:
        entry = self.replay.popleft()
        fields, node = entry.fields, request.metadata.dst_node_id
        sent = (node, request.metadata.message_type, records.digest(request.content))
        if sent != (fields["node"], fields["type"], fields["request"]):
            raise ReplayMismatch(
                f"it sends another {request.metadata.message_type} message to client {node - FIRST_NODE}"
            )
        cut = fields.get("state", 0)
        if "state" in fields:
            self.clients.states[node] = records.from_bytes(entry.data[:cut])
            self.stored_states[node] = records.digest(self.clients.states[node])
        if "error" in fields:
            return Error(*fields["error"])
        return records.from_bytes(entry.data[cut:])
