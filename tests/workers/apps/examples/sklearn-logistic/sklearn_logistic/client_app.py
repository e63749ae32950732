"""The client: a few iterations of the solver, starting from the global coefficients."""

import warnings

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from sklearn.metrics import accuracy_score, f1_score, log_loss

from sklearn_logistic.task import CLASSES, create_model, get_parameters, load_data, set_parameters

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    inputs, labels, _, _ = load(context)
    model = create_model(context.run_config)
    set_parameters(model, message.content["arrays"].to_numpy_ndarrays())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few iterations to converge, on purpose
        model.fit(inputs, labels)
    loss = log_loss(labels, model.predict_proba(inputs), labels=range(CLASSES))
    metrics = MetricRecord({"train_logloss": float(loss), "num-examples": len(labels)})
    arrays = ArrayRecord(get_parameters(model))
    return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    _, _, inputs, labels = load(context)
    model = create_model(context.run_config)
    set_parameters(model, message.content["arrays"].to_numpy_ndarrays())
    predictions = model.predict(inputs)
    metrics = {
        "test_logloss": float(log_loss(labels, model.predict_proba(inputs), labels=range(CLASSES))),
        "accuracy": float(accuracy_score(labels, predictions)),
        "f1": float(f1_score(labels, predictions, average="macro")),
        "num-examples": len(labels),
    }
    return Message(RecordDict({"metrics": MetricRecord(metrics)}), reply_to=message)


def load(context: Context) -> tuple:
    node = context.node_config
    return load_data(node["partition-id"], node["num-partitions"], context.run_config["scale-features"])
