"""Names of records and values in the messages between server and clients."""

ARRAYS, CONFIG, METRICS = "arrays", "config", "metrics"
SAMPLES, TRAIN_LOSS, STEPS = "num-examples", "train-loss", "steps"
ROUND = "server-round"
OBSERVED = "observed"
"""In place of ARRAYS: a model that the simulation looks at but nobody would send; such a message costs no bytes."""
