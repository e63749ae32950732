"""One of the clients raises in each round, after it changed its state."""

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

client = ClientApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    calls = context.state.setdefault("calls", MetricRecord({"number": 0}))
    calls["number"] += 1
    server_round = message.content["config"]["server-round"]
    if context.node_config["partition-id"] == server_round % context.node_config["num-partitions"]:
        raise ValueError(f"Client {context.node_config['partition-id']} has had enough of round {server_round}.")
    metrics = MetricRecord({"loss": 1.0, "calls": calls["number"], "num-examples": 1})
    return Message(RecordDict({"arrays": message.content["arrays"], "metrics": metrics}), reply_to=message)


server = ServerApp()


@server.main()
def main(grid: Grid, context: Context) -> None:
    FedAvg(fraction_evaluate=0.0).start(
        grid=grid, initial_arrays=ArrayRecord([np.zeros(2)]), num_rounds=context.run_config["num-server-rounds"]
    )
