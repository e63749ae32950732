"""The client: a few steps of gradient descent on its own data."""

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from numpy_least_squares.task import descend, load_data, mean_squared_error

app = ClientApp()


def data_of(context: Context) -> tuple[np.ndarray, np.ndarray]:
    config = context.run_config
    return load_data(config["seed"], context.node_config["partition-id"], config["num-examples"])


@app.train()
def train(message: Message, context: Context) -> Message:
    inputs, targets = data_of(context)
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    config = context.run_config
    weights = descend(weights, inputs, targets, config["learning-rate"], config["local-steps"])
    metrics = {"train_loss": mean_squared_error(weights, inputs, targets), "num-examples": len(targets)}
    content = RecordDict({"arrays": ArrayRecord([weights]), "metrics": MetricRecord(metrics)})
    return Message(content=content, reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    inputs, targets = data_of(context)
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    loss = mean_squared_error(weights, inputs, targets)
    metrics = {"loss": loss, "r2": 1 - loss / float(np.var(targets)), "num-examples": len(targets)}
    return Message(content=RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)
