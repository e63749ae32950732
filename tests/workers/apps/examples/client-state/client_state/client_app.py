"""The client: shared weights come and go, its own bias, step size and history stay in the context."""

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from client_state.task import load_data, squared_error

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    inputs, targets = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    state = context.state
    if "personal" not in state:
        state["personal"] = ArrayRecord([np.zeros(1)])
        state["history"] = MetricRecord({"losses": [], "step-size": context.run_config["step-size"]})
        state["notes"] = ConfigRecord({"first-round": message.content["config"]["server-round"], "phase": "new"})
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    (bias,) = state["personal"].to_numpy_ndarrays()
    step_size = next_step_size(state["history"])

    for _ in range(context.run_config["local-steps"]):
        error = inputs @ weights + bias - targets
        weights = weights - step_size * inputs.T @ error / len(targets)
        bias = bias - step_size * error.mean()

    loss = squared_error(weights, bias[0], inputs, targets)
    state["personal"] = ArrayRecord([bias])
    state["history"] = MetricRecord({"losses": [*state["history"]["losses"], loss], "step-size": step_size})
    metrics = {
        "train_loss": loss,
        "step-size": step_size,
        "rounds-in-state": len(state["history"]["losses"]),
        "num-examples": len(targets),
    }
    content = RecordDict({"arrays": ArrayRecord([weights]), "metrics": MetricRecord(metrics)})
    return Message(content, reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    """Tests the shared weights with the client's own bias, and remembers that it did."""
    inputs, targets = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    (weights,) = message.content["arrays"].to_numpy_ndarrays()
    (bias,) = context.state["personal"].to_numpy_ndarrays()
    loss = squared_error(weights, bias[0], inputs, targets)
    is_worse = loss > context.state["history"]["losses"][-1]
    context.state["notes"]["phase"] = "worse" if is_worse else "better"
    metrics = {"loss": loss, "bias": float(bias[0]), "num-examples": len(targets)}
    return Message(RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)


def next_step_size(history: MetricRecord) -> float:
    """Half of the last one wherever the loss has not gone down by a tenth."""
    losses = history["losses"]
    is_stuck = len(losses) >= 2 and losses[-1] > 0.9 * losses[-2]
    return history["step-size"] / 2 if is_stuck else history["step-size"]
