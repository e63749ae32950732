"""What is timed, one process each: `python -m benchmarks.engine.contenders.NAME SHAPE`."""
