"""The server: asks for the range of each feature, then for its histogram; there is no model and no strategy."""

import time
from collections.abc import Iterable

import numpy as np
from flwr.app import ConfigRecord, Context, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid, ServerApp

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    while len(node_ids := list(grid.get_node_ids())) < 2:
        time.sleep(config["poll-seconds"])
    for number, feature in enumerate(config["features"].split(","), start=1):
        question = ConfigRecord({"feature": feature})
        replies = grid.send_and_receive(ask(question, MessageType.QUERY, node_ids, number), timeout=60)
        low, high = range_of(replies)

        question = ConfigRecord({"feature": feature, "bins": config["bins"], "low": low, "high": high})
        message_ids = list(grid.push_messages(ask(question, f"{MessageType.QUERY}.histogram", node_ids, number)))
        answers = collect(grid, message_ids, config["poll-seconds"])
        counts = np.sum([answer.content["answer"]["counts"] for answer in answers], axis=0)

        context.state[feature] = MetricRecord({"low": low, "high": high, "counts": counts.tolist()})
        print(f"{feature}: {low} to {high}, {counts.tolist()}")


def ask(question: ConfigRecord, message_type: str, node_ids: list[int], number: int) -> list[Message]:
    return [
        Message(
            content=RecordDict({"question": question}),
            message_type=message_type,
            dst_node_id=node_id,
            group_id=str(number),
        )
        for node_id in node_ids
    ]


def range_of(replies: Iterable[Message]) -> tuple[float, float]:
    ranges = [reply.content["answer"]["range"] for reply in replies if reply.has_content()]
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def collect(grid: Grid, message_ids: list[str], poll_seconds: float) -> list[Message]:
    """Replies as they come in, until every message has one."""
    answers: list[Message] = []
    while waiting := set(message_ids) - {answer.metadata.reply_to_message_id for answer in answers}:
        answers.extend(grid.pull_messages(waiting))
        time.sleep(poll_seconds)
    return [answer for answer in answers if answer.has_content()]
