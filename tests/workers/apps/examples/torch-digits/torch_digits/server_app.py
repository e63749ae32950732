"""The server: FedAvg, and the global model on test images that no client has."""

from flwr.app import ArrayRecord, ConfigRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from torch_digits.task import Net, load_test, test

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    strategy = FedAvg(fraction_train=context.run_config["fraction-train"], fraction_evaluate=0.4)
    result = strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(Net().state_dict()),
        train_config=ConfigRecord({"lr": context.run_config["optimizer.lr"]}),
        num_rounds=context.run_config["num-server-rounds"],
        evaluate_fn=evaluate_globally,
    )
    print(f"Parameters after the last round: {sum(array.numpy().size for array in result.arrays.values())}")


def evaluate_globally(server_round: int, arrays: ArrayRecord) -> MetricRecord:
    net = Net()
    net.load_state_dict(arrays.to_torch_state_dict())
    loss, accuracy = test(net, load_test())
    return MetricRecord({"loss": loss, "accuracy": accuracy})
