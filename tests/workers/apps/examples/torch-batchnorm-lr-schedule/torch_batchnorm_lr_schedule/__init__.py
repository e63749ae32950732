"""torch-batchnorm-lr-schedule: a Flower app."""
