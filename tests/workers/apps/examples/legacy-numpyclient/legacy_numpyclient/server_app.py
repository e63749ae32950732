"""The server: components from a function, with a FedAvg that also reports how far the model moved."""

import numpy as np
from flwr.common import Context, FitRes, Metrics, NDArrays, Parameters, Scalar, parameters_to_ndarrays
from flwr.server import ServerApp, ServerAppComponents, ServerConfig
from flwr.server.client_proxy import ClientProxy
from flwr.server.strategy import FedAvg

from legacy_numpyclient.task import load_data, test


class MeasuringFedAvg(FedAvg):
    """Keeps the last model, to measure each round's step."""

    last: NDArrays | None = None

    def aggregate_fit(
        self, server_round: int, results: list[tuple[ClientProxy, FitRes]], failures: list
    ) -> tuple[Parameters | None, dict[str, Scalar]]:
        parameters, metrics = super().aggregate_fit(server_round, results, failures)
        arrays = parameters_to_ndarrays(parameters)
        before = self.last or [np.zeros_like(array) for array in arrays]
        step = sum(float(np.sum((new - old) ** 2)) for new, old in zip(arrays, before, strict=True))
        self.last = arrays
        return parameters, {**metrics, "step_norm": step**0.5}


def weighted_average(metrics: list[tuple[int, Metrics]]) -> Metrics:
    total = sum(examples for examples, _ in metrics)
    return {name: sum(examples * each[name] for examples, each in metrics) / total for name in metrics[0][1]}


def evaluate_globally(server_round: int, parameters: NDArrays, config: dict[str, Scalar]) -> tuple[float, Metrics]:
    loss, accuracy = test(parameters, *load_data(0, 1))
    return loss, {"central_accuracy": accuracy}


def server_fn(context: Context) -> ServerAppComponents:
    rate = context.run_config["learning-rate"]
    strategy = MeasuringFedAvg(
        fraction_fit=1.0,
        fraction_evaluate=context.run_config["fraction-evaluate"],
        min_available_clients=2,
        on_fit_config_fn=lambda server_round: {"lr": rate / server_round},
        fit_metrics_aggregation_fn=weighted_average,
        evaluate_metrics_aggregation_fn=weighted_average,
        evaluate_fn=evaluate_globally,
    )
    return ServerAppComponents(strategy=strategy, config=ServerConfig(context.run_config["num-server-rounds"]))


app = ServerApp(server_fn=server_fn)
