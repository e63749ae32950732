"""The client: moves the centres, and prints that it did."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from writes_files.task import distance_and_accuracy, load_data, move

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    inputs, labels = load_data(context.node_config["partition-id"], context.node_config["num-partitions"])
    (centres,) = message.content["arrays"].to_numpy_ndarrays()
    centres = move(centres, inputs, labels, context.run_config["learning-rate"])
    distance, _ = distance_and_accuracy(centres, inputs, labels)
    print(f"Client {context.node_config['partition-id']}: distance {distance:.4f}")
    metrics = MetricRecord({"distance": distance, "num-examples": len(labels)})
    return Message(RecordDict({"arrays": ArrayRecord([centres]), "metrics": metrics}), reply_to=message)
