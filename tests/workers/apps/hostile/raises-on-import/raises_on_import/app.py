"""Cannot even be imported."""

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

raise RuntimeError("This app cannot be imported.")


client = ClientApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    metrics = MetricRecord({"loss": 1.0, "num-examples": 1})
    return Message(RecordDict({"arrays": message.content["arrays"], "metrics": metrics}), reply_to=message)


server = ServerApp()


@server.main()
def main(grid: Grid, context: Context) -> None:
    FedAvg(fraction_evaluate=0.0).start(
        grid=grid, initial_arrays=ArrayRecord([np.zeros(2)]), num_rounds=context.run_config["num-server-rounds"]
    )
