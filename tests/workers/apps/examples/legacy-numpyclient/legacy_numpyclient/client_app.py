"""The client as a NumPyClient."""

import numpy as np
from flwr.client import Client, ClientApp, NumPyClient
from flwr.common import Context, NDArrays, Scalar

from legacy_numpyclient.task import fit, initial_parameters, load_data, test


class SoftmaxClient(NumPyClient):
    def __init__(self, data: tuple[np.ndarray, np.ndarray], local_epochs: int) -> None:
        self.inputs, self.labels = data
        self.local_epochs = local_epochs

    def get_parameters(self, config: dict[str, Scalar]) -> NDArrays:
        return initial_parameters()

    def fit(self, parameters: NDArrays, config: dict[str, Scalar]) -> tuple[NDArrays, int, dict[str, Scalar]]:
        parameters = fit(parameters, self.inputs, self.labels, config["lr"], self.local_epochs)
        loss, _ = test(parameters, self.inputs, self.labels)
        return parameters, len(self.labels), {"train_loss": loss}

    def evaluate(self, parameters: NDArrays, config: dict[str, Scalar]) -> tuple[float, int, dict[str, Scalar]]:
        loss, accuracy = test(parameters, self.inputs, self.labels)
        return loss, len(self.labels), {"accuracy": accuracy}


def client_fn(context: Context) -> Client:
    data = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    return SoftmaxClient(data, context.run_config["local-epochs"]).to_client()


app = ClientApp(client_fn=client_fn)
