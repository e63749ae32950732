from __future__ import annotations

import logging

import flwr
from flwr.app import ConfigRecord, Message, MessageType, RecordDict

from workers.engine.messages.flower import FLOWER_VERSION, enable_messages, number_messages, quiet_flower


def test_it_was_written_for_the_flower_that_is_installed() -> None:
    assert flwr.__version__ == FLOWER_VERSION, (
        "Check workers/engine/messages/flower.py against this Flower, then raise the version."
    )


def test_messages_can_be_made_and_answered_outside_of_flowers_runtime() -> None:
    enable_messages()
    request = Message(RecordDict({"config": ConfigRecord({"a": 1})}), 7, MessageType.TRAIN)

    (numbered,) = number_messages([request])
    reply = Message(RecordDict(), reply_to=numbered)

    assert numbered.metadata.message_id != ""
    assert reply.metadata.reply_to_message_id == numbered.metadata.message_id
    assert reply.metadata.src_node_id == 7


def test_flower_is_quiet_inside_and_as_before_outside() -> None:
    logger = logging.getLogger("flwr")
    before = logger.level

    with quiet_flower():
        assert not logger.isEnabledFor(logging.INFO)

    assert logger.level == before
