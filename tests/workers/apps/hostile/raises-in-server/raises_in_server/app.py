"""The server raises after the first round."""

from collections.abc import Iterable

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

client = ClientApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    metrics = MetricRecord({"loss": 1.0, "num-examples": 1})
    return Message(RecordDict({"arrays": message.content["arrays"], "metrics": metrics}), reply_to=message)


class ShortFedAvg(FedAvg):
    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        if server_round == 2:
            raise KeyError("The server has lost its model.")
        return super().configure_train(server_round, arrays, config, grid)


server = ServerApp()


@server.main()
def main(grid: Grid, context: Context) -> None:
    ShortFedAvg(fraction_evaluate=0.0).start(
        grid=grid, initial_arrays=ArrayRecord([np.zeros(2)]), num_rounds=context.run_config["num-server-rounds"]
    )
