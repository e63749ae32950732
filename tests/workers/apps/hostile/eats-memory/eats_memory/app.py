"""A client takes memory until there is none left."""

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

MEGABYTE = 2**20


client = ClientApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    if context.node_config["partition-id"] == 0:
        hoard = [np.ones(64 * MEGABYTE, dtype=np.uint8) for _ in range(4096)]
        raise RuntimeError(f"There was memory for {len(hoard)} pieces.")
    metrics = MetricRecord({"loss": 1.0, "num-examples": 1})
    return Message(RecordDict({"arrays": message.content["arrays"], "metrics": metrics}), reply_to=message)


server = ServerApp()


@server.main()
def main(grid: Grid, context: Context) -> None:
    FedAvg(fraction_evaluate=0.0).start(
        grid=grid, initial_arrays=ArrayRecord([np.zeros(2)]), num_rounds=context.run_config["num-server-rounds"]
    )
