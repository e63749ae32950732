"""The server: FedAvg over half-precision updates, which it averages in double precision."""

from collections.abc import Iterable

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from custom_mods.mods import cast
from custom_mods.task import FEATURES

app = ServerApp()


class WideFedAvg(FedAvg):
    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        replies = list(replies)
        for reply in replies:
            if reply.has_content() and reply.content["wire"]["dtype"] == "float16":
                reply.content["arrays"] = cast(reply.content["arrays"], np.float64)
        return super().aggregate_train(server_round, replies)


@app.main()
def main(grid: Grid, context: Context) -> None:
    WideFedAvg().start(
        grid=grid,
        initial_arrays=ArrayRecord([np.zeros(FEATURES)]),
        train_config=ConfigRecord({"clip-norm": context.run_config["clip-norm"]}),
        num_rounds=context.run_config["num-server-rounds"],
    )
