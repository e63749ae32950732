"""A lab's experiments from Python.

import tributary as lab

study = lab.launch("grid.yaml", strategy=["fedavg", "fedprox"])
study.wait()
frame = study.metrics("accuracy")

run = lab.init("My own loop", config={"lr": 0.1}, seed=0)
run.log({"accuracy": 0.71}, round=3)
run.finish()
"""

from tributary.comparison import Comparison, compare
from tributary.connection import AwayError, Connection, LabError, Login, connect
from tributary.logged import LoggedRun, init
from tributary.studies import Study, launch, studies, study

__all__ = [
    "AwayError",
    "Comparison",
    "Connection",
    "LabError",
    "LoggedRun",
    "Login",
    "Study",
    "compare",
    "connect",
    "init",
    "launch",
    "studies",
    "study",
]
__version__ = "0.1.0"
