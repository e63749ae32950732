"""Reports whether the platform's secrets are in the environment of its client and server."""

import os

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

NAMES = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL")


client = ClientApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    secrets = {name: int(bool(os.environ.get(name))) for name in NAMES}
    metrics = MetricRecord({**secrets, "num-examples": 1})
    return Message(RecordDict({"arrays": message.content["arrays"], "metrics": metrics}), reply_to=message)


server = ServerApp()


@server.main()
def main(grid: Grid, context: Context) -> None:
    def count_secrets(server_round: int, arrays: ArrayRecord) -> MetricRecord:
        return MetricRecord({name: int(bool(os.environ.get(name))) for name in NAMES})

    FedAvg(fraction_evaluate=0.0).start(
        grid=grid,
        initial_arrays=ArrayRecord([np.zeros(2)]),
        num_rounds=context.run_config["num-server-rounds"],
        evaluate_fn=count_secrets,
    )
