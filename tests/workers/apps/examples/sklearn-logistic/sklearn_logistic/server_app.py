"""The server: FedAvg over the coefficients."""

from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from sklearn_logistic.task import create_model, get_parameters

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    model = create_model(context.run_config)
    FedAvg(fraction_train=1.0, fraction_evaluate=1.0).start(
        grid=grid,
        initial_arrays=ArrayRecord(get_parameters(model)),
        num_rounds=context.run_config["num-server-rounds"],
    )
