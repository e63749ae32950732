"""The server: tests the centres itself, and writes what it learns into the folder that it runs in."""

import csv
import json
import logging
import sys
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from writes_files.task import CLASSES, FEATURES, distance_and_accuracy, load_data

app = ServerApp()
logger = logging.getLogger("writes_files")


@app.main()
def main(grid: Grid, context: Context) -> None:
    folder = Path(context.run_config["output-folder"])
    folder.mkdir(exist_ok=True)

    def evaluate_and_save(server_round: int, arrays: ArrayRecord) -> MetricRecord:
        (centres,) = arrays.to_numpy_ndarrays()
        distance, accuracy = distance_and_accuracy(centres, *load_data())
        np.save(folder / f"centres-{server_round}.npy", centres)
        print(f"Round {server_round}: accuracy {accuracy:.3f}")
        return MetricRecord({"distance": distance, "accuracy": accuracy})

    result = FedAvg(fraction_evaluate=0.0).start(
        grid=grid,
        initial_arrays=ArrayRecord([np.zeros((CLASSES, FEATURES))]),
        num_rounds=context.run_config["num-server-rounds"],
        evaluate_fn=evaluate_and_save,
    )
    with Path("history.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["round", "distance", "accuracy"])
        for server_round, metrics in result.evaluate_metrics_serverapp.items():
            table.writerow([server_round, metrics["distance"], metrics["accuracy"]])
    np.savez("model.npz", *result.arrays.to_numpy_ndarrays())
    (folder / "summary.json").write_text(json.dumps({"rounds": len(result.train_metrics_clientapp)}))
    logger.warning("The model is in %s", Path("model.npz").name)
    print("Written to stderr", file=sys.stderr)
