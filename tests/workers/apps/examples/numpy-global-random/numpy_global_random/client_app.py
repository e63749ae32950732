"""The client: one epoch of mini-batches, evaluated on a random half of its data."""

import random

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from numpy_global_random.task import load_data, run_epoch

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    inputs, targets = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    weights = message.content["arrays"].to_numpy_ndarrays()
    config = context.run_config
    loss = run_epoch(weights, inputs, targets, config["learning-rate"], config["batch-size"])
    metrics = MetricRecord({"train_loss": loss, "num-examples": len(targets)})
    return Message(content=RecordDict({"arrays": ArrayRecord(weights), "metrics": metrics}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    inputs, targets = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    chosen = random.sample(range(len(targets)), len(targets) // 2)
    slope, bias = message.content["arrays"].to_numpy_ndarrays()
    loss = float(np.mean((inputs[chosen] @ slope + bias - targets[chosen]) ** 2))
    metrics = MetricRecord({"loss": loss, "num-examples": len(chosen)})
    return Message(content=RecordDict({"metrics": metrics}), reply_to=message)
