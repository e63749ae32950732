"""The client: local epochs of SGD on its share of the digits."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from torch.utils.data import DataLoader

from torch_digits.task import Net, fit, load_client, test

app = ClientApp()


def load(message: Message, context: Context) -> tuple[Net, DataLoader]:
    net = Net()
    net.load_state_dict(message.content["arrays"].to_torch_state_dict())
    node = context.node_config
    return net, load_client(node["partition-id"], node["num-partitions"], context.run_config["batch-size"])


@app.train()
def train(message: Message, context: Context) -> Message:
    net, loader = load(message, context)
    config = context.run_config
    loss = fit(net, loader, config["local-epochs"], message.content["config"]["lr"], config["optimizer.momentum"])
    metrics = MetricRecord({"train_loss": loss, "num-examples": len(loader.dataset)})
    return Message(RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    net, loader = load(message, context)
    loss, accuracy = test(net, loader)
    metrics = MetricRecord({"eval_loss": loss, "eval_acc": accuracy, "num-examples": len(loader.dataset)})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)
