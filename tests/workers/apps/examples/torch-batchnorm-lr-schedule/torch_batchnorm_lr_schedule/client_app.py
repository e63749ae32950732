"""The client: trains with the learning rate that came with the message."""

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from torch_batchnorm_lr_schedule.task import build_network, fit, load_client

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    config, node, order = context.run_config, context.node_config, message.content["config"]
    net = build_network(config["seed"])
    net.load_state_dict(message.content["arrays"].to_torch_state_dict())
    images, labels = load_client(node["partition-id"], node["num-partitions"])
    generator = torch.Generator().manual_seed(
        config["seed"] * 1_000_000 + order["server-round"] * 1000 + node["partition-id"]
    )
    loss = fit(net, images, labels, order["lr"], config["local-epochs"], generator)
    metrics = MetricRecord({"train_loss": loss, "lr": order["lr"], "num-examples": len(labels)})
    return Message(RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics}), reply_to=message)
