"""The client: one step of gradient descent; mods around everything, and one around training only."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from custom_mods.mods import clip_update, count_messages, halve_precision
from custom_mods.task import load_data, log_loss, probabilities

app = ClientApp(mods=[count_messages, halve_precision])


@app.train(mods=[clip_update])
def train(message: Message, context: Context) -> Message:
    if "clip-norm" in message.content["config"]:
        raise ValueError("The mod has not taken its setting out of the message.")
    inputs, labels = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    gradient = inputs.T @ (probabilities(weights, inputs) - labels) / len(labels)
    weights = weights - context.run_config["learning-rate"] * gradient
    metrics = MetricRecord({"train_loss": log_loss(weights, inputs, labels), "num-examples": len(labels)})
    return Message(RecordDict({"arrays": ArrayRecord([weights]), "metrics": metrics}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    inputs, labels = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    correct = (probabilities(weights, inputs) > 0.5) == labels
    metrics = {
        "loss": log_loss(weights, inputs, labels),
        "accuracy": float(correct.mean()),
        "num-examples": len(labels),
    }
    return Message(RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)
