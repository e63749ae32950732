"""The server: FedAvg with a learning rate that falls in steps; it alone tests the model."""

from collections.abc import Iterable

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from torch_batchnorm_lr_schedule.task import build_network, load_test, test

app = ServerApp()


class ScheduledFedAvg(FedAvg):
    def __init__(self, initial_lr: float, factor: float, every: int) -> None:
        super().__init__(fraction_evaluate=0.0)
        self.initial_lr, self.factor, self.every = initial_lr, factor, every

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        config["lr"] = self.initial_lr * self.factor ** ((server_round - 1) // self.every)
        return super().configure_train(server_round, arrays, config, grid)


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    net = build_network(config["seed"])

    def evaluate_globally(server_round: int, arrays: ArrayRecord) -> MetricRecord | None:
        if server_round == 0:
            return None
        net.load_state_dict(arrays.to_torch_state_dict())
        loss, accuracy = test(net, *load_test())
        return MetricRecord({"test_loss": loss, "test_accuracy": accuracy})

    ScheduledFedAvg(config["schedule.initial-lr"], config["schedule.factor"], config["schedule.every"]).start(
        grid=grid,
        initial_arrays=ArrayRecord(net.state_dict()),
        num_rounds=config["num-server-rounds"],
        evaluate_fn=evaluate_globally,
    )
