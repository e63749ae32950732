"""The server: a loop of its own over messages of several types."""

import time
from collections.abc import Iterator

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid, ServerApp

from actions_and_lifespans.task import FEATURES

app = ServerApp()


@app.lifespan()
def lifespan(context: Context) -> Iterator[None]:
    print("Before the rounds")
    yield
    print("After the rounds, results:", sorted(context.state))


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    arrays = ArrayRecord([np.zeros(FEATURES)])
    for server_round in range(1, config["num-server-rounds"] + 1):
        action = "train.warm_up" if server_round <= config["warm-up-rounds"] else "train"
        replies = exchange(grid, action, arrays, server_round, config["timeout"])
        arrays = average(replies)
        context.state[f"round-{server_round}"] = MetricRecord({"loss": mean(replies, "loss")})
        print(f"Round {server_round} ({action}): {mean(replies, 'loss'):.4f}")
    if config["fine-tune"]:
        exchange(grid, "train.fine_tune", arrays, server_round + 1, config["timeout"])
        replies = exchange(grid, "evaluate.tuned", arrays, server_round + 1, config["timeout"])
        names = ("tuned_loss", "entered", "left")
        context.state["tuned"] = MetricRecord({name: mean(replies, name) for name in names})


def exchange(grid: Grid, action: str, arrays: ArrayRecord, server_round: int, timeout: float) -> list[Message]:
    while not (nodes := sorted(grid.get_node_ids())):
        time.sleep(0.1)
    messages = [Message(RecordDict({"arrays": arrays}), node, action, group_id=str(server_round)) for node in nodes]
    replies = grid.send_and_receive(messages, timeout=timeout)
    return [reply for reply in replies if reply.has_content()]


def average(replies: list[Message]) -> ArrayRecord:
    return ArrayRecord([np.mean([reply.content["arrays"].to_numpy_ndarrays()[0] for reply in replies], axis=0)])


def mean(replies: list[Message], name: str) -> float:
    return float(np.mean([reply.content["metrics"][name] for reply in replies]))
