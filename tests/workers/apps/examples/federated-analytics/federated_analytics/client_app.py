"""The client: answers questions about its data, never with a row of it."""

import numpy as np
from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from federated_analytics.task import load_column

app = ClientApp()


def column_of(message: Message, context: Context) -> np.ndarray:
    feature = message.content["question"]["feature"]
    return load_column(feature, context.node_config["partition-id"], context.node_config["num-partitions"])


@app.query()
def query(message: Message, context: Context) -> Message:
    column = column_of(message, context)
    metrics = MetricRecord({"range": [float(column.min()), float(column.max())], "num-examples": len(column)})
    return Message(RecordDict({"answer": metrics}), reply_to=message)


@app.query("histogram")
def histogram(message: Message, context: Context) -> Message:
    question = message.content["question"]
    counts, _ = np.histogram(column_of(message, context), question["bins"], (question["low"], question["high"]))
    return Message(RecordDict({"answer": MetricRecord({"counts": counts.tolist()})}), reply_to=message)
