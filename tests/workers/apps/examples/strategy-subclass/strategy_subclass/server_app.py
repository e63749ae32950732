"""The server: FedAvg with momentum, a falling learning rate and a memory of its best round."""

from collections.abc import Iterable

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from strategy_subclass.task import CLASSES, FEATURES

app = ServerApp()


class MomentumFedAvg(FedAvg):
    """w <- w + v with v <- momentum v + (average of the clients - w)."""

    def __init__(self, momentum: float) -> None:
        super().__init__()
        self.momentum = momentum
        self.current: dict[str, np.ndarray] = {}
        self.velocity: dict[str, np.ndarray] = {}
        self.best_round, self.best_accuracy = 0, 0.0

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        self.current = {name: array.numpy() for name, array in arrays.items()}
        config["lr"] = config["lr"] * (1.0 if server_round == 1 else 0.9)
        return super().configure_train(server_round, arrays, config, grid)

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        average, metrics = super().aggregate_train(server_round, replies)
        if average is None:
            return None, None
        for name, array in average.items():
            step = array.numpy() - self.current[name]
            self.velocity[name] = self.momentum * self.velocity.get(name, np.zeros_like(step)) + step
        metrics["velocity-norms"] = [float(np.linalg.norm(each)) for each in self.velocity["weights"].T]
        moved = {name: Array(self.current[name] + each) for name, each in self.velocity.items()}
        return ArrayRecord(moved), metrics

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        metrics = super().aggregate_evaluate(server_round, replies)
        if metrics is not None:
            if metrics["accuracy"] > self.best_accuracy:
                self.best_round, self.best_accuracy = server_round, metrics["accuracy"]
            metrics["best-round"], metrics["best-accuracy"] = self.best_round, self.best_accuracy
        return metrics


@app.main()
def main(grid: Grid, context: Context) -> None:
    strategy = MomentumFedAvg(context.run_config["server-momentum"])
    strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord({"weights": Array(np.zeros((FEATURES, CLASSES)))}),
        train_config=ConfigRecord({"lr": context.run_config["learning-rate"]}),
        num_rounds=context.run_config["num-server-rounds"],
    )
    print(f"Best round: {strategy.best_round}, accuracy {strategy.best_accuracy:.3f}")
