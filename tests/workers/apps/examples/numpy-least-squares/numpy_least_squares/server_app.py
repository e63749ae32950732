"""The server: FedAvg over all clients, from zero."""

import numpy as np
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from numpy_least_squares.task import FEATURES

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    result = FedAvg().start(
        grid=grid,
        initial_arrays=ArrayRecord([np.zeros(FEATURES)]),
        num_rounds=context.run_config["num-server-rounds"],
    )
    (weights,) = result.arrays.to_numpy_ndarrays()
    print("Weights:", np.round(weights, 4))
