"""What clients and server send, compressed.

Clients one after the other, so that no second copy of a cohort lies in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np
import torch
from flwr.app import Message

from workers.compression.compressors import Compressor, Quantise, RandomK, TopK
from workers.engine.adversary import model_of, replace_model
from workers.engine.clients import SHARED_STREAM
from workers.engine.messages.arrays import Tensors, array_bytes, record_of, tensor_of
from workers.engine.training.rule import ClientStore
from workers.spec import RunSpec
from workers.streams import stream

INDEX_BYTES, SCALE_BYTES, SEED_BYTES = 4, 4, 8
RESIDUAL, VIEW = "residual/", "view/"
SERVER = -2
"""The server's place in the store of what clients keep: what all of them know of its model."""


@dataclass(frozen=True)
class SentModel:
    """What clients start a round with, and what of the server's model they were not told, for the server to keep."""

    model: Tensors
    rest: Tensors = field(default_factory=dict)
    compressed: Sequence[str] = ()
    size: int = 0
    """Bytes of the compressed tensors, to all clients together."""

    def with_rest(self, model: Tensors) -> Tensors:
        return {name: value + self.rest[name] if name in self.rest else value for name, value in model.items()}

    def bytes_fewer(self, requests: Sequence[Message]) -> float:
        """Than whole models to the cohort. It may be below 0: everybody is told, whoever trains."""
        records = [model_of(request.content) for request in requests] if self.compressed else []
        return float(sum(array_bytes(record[name]) for record in records for name in self.compressed) - self.size)


class Compression:
    """Replaces what is sent by what arrives of it, and counts what would travel."""

    def __init__(self, part: Compressor, spec: RunSpec, buffers: Sequence[str], store: ClientStore) -> None:
        self.part, self.seed, self.buffers, self.store = part, spec.seed, buffers, store
        self.clients = spec.client_count

    def compress_model(self, number: int, model: Tensors) -> SentModel:
        """What clients start the round with.

        In the first round, the model. Later, what they knew and C of its distance to the model. Everybody is told, also
        who does not train in this round: a client that missed one could not make sense of the next.
        """
        names = [name for name in model if name not in self.buffers]
        if self.part.direction == "up":
            return SentModel(model)
        own = self.store.kept.setdefault(SERVER, {})
        if not own:
            own |= {VIEW + name: model[name].clone() for name in names}
            return SentModel(model, {}, names, self.clients * sum(model[name].nbytes for name in names))
        movement = {name: model[name] - own[VIEW + name] for name in names}
        rng = stream(self.seed, "compression", round=number)
        arriving, size = compress(self.part, movement, rng)
        own |= {VIEW + name: own[VIEW + name] + arriving[name] for name in names}
        rest = {name: movement[name] - arriving[name] for name in names if self.part.feedback}
        sent = {**model, **{name: own[VIEW + name] for name in names}}
        return SentModel(sent, rest, names, self.clients * size)

    def compress_replies(
        self, number: int, requests: Sequence[Message], replies: Sequence[Message], client_of: Callable[[int], int]
    ) -> dict[str, float]:
        """How many bytes fewer the round's replies take, as a metric that adds to theirs."""
        sent = {name: tensor_of(array) for name, array in model_of(requests[0].content).items()}
        saved = 0
        for reply in replies:
            if not reply.has_error():
                saved += self.compress_reply(number, sent, reply, client_of(reply.metadata.src_node_id))
        return {"bytes_up": -float(saved)}

    def compress_reply(self, number: int, sent: Tensors, reply: Message, client: int) -> int:
        record = model_of(reply.content)
        model = {name: tensor_of(array) for name, array in record.items()}
        names = [name for name in sent if name not in self.buffers]
        movement = {name: model[name] - sent[name] for name in names}
        if self.part.feedback:
            rest = self.store.kept.get(client, {})
            movement = {name: value + rest.get(RESIDUAL + name, 0) for name, value in movement.items()}
        rng = stream(self.seed, "compression", client=client if client >= 0 else SHARED_STREAM, round=number)
        arriving, size = compress(self.part, movement, rng)
        if self.part.feedback:
            own = self.store.kept.setdefault(client, {})
            own |= {RESIDUAL + name: movement[name] - arriving[name] for name in names}
        replace_model(reply, record_of({**model, **{name: sent[name] + arriving[name] for name in names}}))
        return sum(array_bytes(record[name]) for name in names) - size


def compress(part: Compressor, movement: Tensors, rng: np.random.Generator) -> tuple[Tensors, int]:
    """What arrives of a movement, and the bytes that it takes."""
    match part:
        case TopK():
            return keep_largest(part, movement)
        case RandomK():
            return keep_random(part, movement, rng)
        case Quantise():
            return quantise(part, movement, rng)
    signs = {name: value.sign() * value.abs().mean() for name, value in movement.items()}
    return signs, ceil(value_count(movement) / 8) + SCALE_BYTES * len(movement)


def value_count(tensors: Tensors) -> int:
    return sum(each.numel() for each in tensors.values())


def keep_largest(part: TopK, movement: Tensors) -> tuple[Tensors, int]:
    """Equal sizes: those that come first. NaN counts as the largest."""
    flat = torch.cat([each.flatten() for each in movement.values()])
    count = max(1, int(part.share * len(flat) + 1e-9))
    places = flat.abs().topk(count).indices
    return only_at(places, flat, movement), count * (flat.element_size() + INDEX_BYTES)


def keep_random(part: RandomK, movement: Tensors, rng: np.random.Generator) -> tuple[Tensors, int]:
    flat = torch.cat([each.flatten() for each in movement.values()])
    count = max(1, int(part.share * len(flat) + 1e-9))
    places = torch.from_numpy(rng.choice(len(flat), count, replace=False)).to(flat.device)
    scale = 1.0 if part.feedback else len(flat) / count
    return only_at(places, flat * scale, movement), count * flat.element_size() + SEED_BYTES


def only_at(places: torch.Tensor, flat: torch.Tensor, like: Tensors) -> Tensors:
    """The values at these places in the tensors' own form, 0 elsewhere."""
    values = torch.zeros_like(flat)
    values[places] = flat[places]
    parts = values.split_with_sizes([each.numel() for each in like.values()])
    return {name: part.view_as(each) for (name, each), part in zip(like.items(), parts, strict=True)}


def quantise(part: Quantise, movement: Tensors, rng: np.random.Generator) -> tuple[Tensors, int]:
    levels = 2 ** (part.bits - 1) - 1
    result = {}
    for name, value in movement.items():
        unit = value.abs().max() / levels
        chance = torch.from_numpy(rng.random(tuple(value.shape))).to(value)
        multiples = (value / unit).nan_to_num() if float(unit) > 0 else torch.zeros_like(value)
        result[name] = (multiples + chance).floor() * unit
    return result, ceil(value_count(movement) * part.bits / 8) + SCALE_BYTES * len(movement)
