"""The Flower ClientApp behind `engine: ray`: trains the client that a message names, as the sequential executor would.

It keeps nothing between messages but the prepared data, so any node on any machine can play any client: what a client
remembers comes with the request and goes back with the reply.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from socket import gethostname
from typing import Any

import numpy as np
import torch
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from workers.engine.messages.arrays import Tensors, tensors_of
from workers.engine.setup import Setup, device_from_name, make_setup
from workers.engine.training.network import single_gradients
from workers.engine.training.trainer import Assignment, Outcome
from workers.errors import TributaryError
from workers.spec import canonical_hash, parse_run

MODEL, CLIENT_STATE, FACTS = "model", "kept", "facts"
RECEIVED, EXTRA = "received/", "extra/"

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    return Message(train_client(message.content), reply_to=message)


def train_client(content: RecordDict) -> RecordDict:
    facts = read_facts(content)
    setup = cached_setup(facts["spec"], facts["identity"], facts["device"])
    client, store = facts["client"], setup.trainer.store
    store.kept = {client: tensors_of(content.array_records[CLIENT_STATE], setup.device)}
    outcome = setup.trainer.train(read_assignment(content, facts, setup))
    return reply_records(outcome, store.kept.get(client, {}))


@lru_cache(maxsize=1)
def cached_setup(spec: str, identity: str, device: str) -> Setup:
    """Data and model are made once in a process, for as long as it serves the same run.

    A machine with other data or code than the run's must not take part in it. Every operation has one thread, however
    many processors a client is given: more would move the last bits.
    """
    torch.set_num_threads(1)
    setup = make_setup(parse_run(json.loads(spec)), device_from_name(device))
    if canonical_hash(setup.spec) != identity:
        raise TributaryError(f"{gethostname()} has other data or code than the run: make them equal, then relaunch.")
    return replace(setup, trainer=replace(setup.trainer, gradients=single_gradients))


def read_assignment(content: RecordDict, facts: dict[str, Any], setup: Setup) -> Assignment:
    return Assignment(
        round=facts["round"],
        clients=setup.trainer.samples.hold([replace(setup.participation.clients[facts["client"]], task=facts["task"])]),
        anchor=tensors_of(content.array_records[MODEL], setup.device),
        was_sent=facts["was_sent"],
        received={
            name.removeprefix(RECEIVED): tensors_of(record, setup.device)
            for name, record in content.array_records.items()
            if name.startswith(RECEIVED)
        },
        config=facts["config"],
        parts={} if facts["part"] is None else {facts["client"]: facts["part"]},
    )


def reply_records(outcome: Outcome, client_state: Tensors) -> RecordDict:
    records: dict[str, Any] = {MODEL: pack_tensors(outcome.model), CLIENT_STATE: pack_tensors(client_state)}
    records |= {f"{EXTRA}{name}": pack_tensors(tensors) for name, tensors in outcome.contribution.arrays.items()}
    facts = {
        "samples": outcome.samples[0],
        "steps": outcome.steps[0],
        "loss": outcome.losses[0],
        "rule": {name: values[0] for name, values in outcome.contribution.metrics.items()},
        "reply_name": outcome.reply_name,
    }
    return RecordDict({**records, FACTS: pack_facts(facts)})


def pack_facts(facts: dict[str, Any]) -> ConfigRecord:
    return ConfigRecord({"json": json.dumps(facts)})


def read_facts(content: RecordDict) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(str(content.config_records[FACTS]["json"]))
    return facts


def pack_tensors(tensors: Tensors) -> ArrayRecord:
    return pack_arrays({name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()})


def pack_arrays(arrays: dict[str, np.ndarray]) -> ArrayRecord:
    return ArrayRecord({name: Array(np.asarray(array, order="C")) for name, array in arrays.items()})
