"""What the malicious clients of a round send in place of their models."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from flwr.app import ArrayRecord, Message, RecordDict

from workers.attacks.attack import Attack
from workers.engine.messages.arrays import Tensors, record_of, tensor_of
from workers.engine.messages.message_keys import ARRAYS
from workers.engine.update_attacks import update_attack
from workers.streams import stream

MALICIOUS_IN_ROUND = "attack.clients"


class Adversary:
    """Changes what malicious clients of a round send, before the server sees it."""

    def __init__(self, attack: Attack, seed: int, malicious: frozenset[int], buffers: Sequence[str]) -> None:
        self.seed, self.malicious, self.buffers, self.updates = seed, malicious, buffers, update_attack(attack)

    def poison_replies(
        self, number: int, requests: Sequence[Message], replies: Sequence[Message], client_of: Callable[[int], int]
    ) -> dict[str, float]:
        """Metrics of the round; replies of malicious clients have another content afterwards."""
        answers = {client_of(reply.metadata.src_node_id): reply for reply in replies if not reply.has_error()}
        malicious = [client for client in answers if client in self.malicious]
        if self.updates is not None and malicious:
            sent = model_of(requests[0].content)
            names = [name for name in sent if name not in self.buffers]
            own = stacked([answers[client] for client in malicious])
            honest = stacked([answers[client] for client in answers if client not in self.malicious], sent)
            streams = [stream(self.seed, "attack", client=client, round=number) for client in malicious]
            poisoned = self.updates.poisoned({name: tensor_of(sent[name]) for name in names}, own, honest, streams)
            for row, client in enumerate(malicious):
                replace_model(answers[client], record_of({**own, **poisoned}, row))
        return {MALICIOUS_IN_ROUND: float(len(malicious))}


def model_of(content: RecordDict) -> ArrayRecord:
    record = content[ARRAYS]
    assert isinstance(record, ArrayRecord)
    return record


def stacked(replies: Sequence[Message], like: ArrayRecord | None = None) -> Tensors:
    """Their models, a row for each; of nobody empty stacks `like` another model's values."""
    records = [model_of(reply.content) for reply in replies]
    if not records:
        return {name: tensor_of(array)[None][:0] for name, array in (like or {}).items()}
    return {name: torch.stack([tensor_of(record[name]) for record in records]) for name in records[0]}


def replace_model(reply: Message, record: ArrayRecord) -> None:
    reply.content = RecordDict({**dict(reply.content), ARRAYS: record})
