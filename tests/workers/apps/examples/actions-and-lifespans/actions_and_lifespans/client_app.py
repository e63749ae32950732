"""The client: three kinds of training and a test of what it has fine-tuned; its lifespan surrounds every message."""

from collections.abc import Iterator

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from actions_and_lifespans.task import descend, load_data, squared_error

app = ClientApp()


@app.lifespan()
def lifespan(context: Context) -> Iterator[None]:
    visits = context.state.setdefault("visits", MetricRecord({"entered": 0, "left": 0}))
    visits["entered"] += 1
    yield
    visits["left"] += 1


@app.train("warm_up")
def warm_up(message: Message, context: Context) -> Message:
    return answer(message, context, rate=0.01, steps=1)


@app.train()
def train(message: Message, context: Context) -> Message:
    return answer(message, context, rate=0.1, steps=2)


@app.train("fine_tune")
def fine_tune(message: Message, context: Context) -> Message:
    """Keeps the result to itself: the reply has no arrays."""
    reply = answer(message, context, rate=0.1, steps=20)
    context.state["tuned"] = reply.content.pop("arrays")
    return reply


@app.evaluate("tuned")
def evaluate_tuned(message: Message, context: Context) -> Message:
    (weights,) = context.state["tuned"].to_numpy_ndarrays()
    inputs, targets = load(context)
    metrics = {
        "tuned_loss": squared_error(weights, inputs, targets),
        "entered": context.state["visits"]["entered"],
        "left": context.state["visits"]["left"],
        "num-examples": len(targets),
    }
    return Message(RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)


def answer(message: Message, context: Context, rate: float, steps: int) -> Message:
    inputs, targets = load(context)
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    weights = descend(weights, inputs, targets, rate, steps)
    metrics = MetricRecord({"loss": squared_error(weights, inputs, targets), "num-examples": len(targets)})
    return Message(RecordDict({"arrays": ArrayRecord([weights]), "metrics": metrics}), reply_to=message)


def load(context: Context) -> tuple[np.ndarray, np.ndarray]:
    return load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
