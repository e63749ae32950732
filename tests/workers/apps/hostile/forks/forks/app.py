"""A client leaves sleeping children behind, one of them in a session of its own."""

import os
import time
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

SLEEP_SECONDS = 300


def start_sleeper(*, detached: bool) -> None:
    """A detached one is a daemon: its parent has gone, and it is in no process group of ours.

    It writes its process id into a file, for whoever looks for it.
    """
    if os.fork() == 0:
        if detached:
            os.setsid()
            if os.fork() != 0:
                os._exit(0)
        Path(f"sleeper-{os.getpid()}").touch()
        time.sleep(SLEEP_SECONDS)
        os._exit(0)


client = ClientApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    if context.node_config["partition-id"] == 0:
        start_sleeper(detached=False)
        start_sleeper(detached=True)
    metrics = MetricRecord({"loss": 1.0, "num-examples": 1})
    return Message(RecordDict({"arrays": message.content["arrays"], "metrics": metrics}), reply_to=message)


server = ServerApp()


@server.main()
def main(grid: Grid, context: Context) -> None:
    FedAvg(fraction_evaluate=0.0).start(
        grid=grid, initial_arrays=ArrayRecord([np.zeros(2)]), num_rounds=context.run_config["num-server-rounds"]
    )
