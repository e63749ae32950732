"""The version of the engine's numbers, which is part of every run's identity.

Raise it whenever a spec, data and components that stay as they are give another curve, and say here what changed; no
run from before is then taken for one from after, reused or continued.

1  The first wave.
2  What `auto` stands for and which clients make a stack follow from the spec and the device type, where a clock and the
   threads had decided; every operation has one thread, evaluation and aggregation too; whatever a model draws from
   torch's default generator is keyed. `fraction` under hybrid `unify` is of the clients that still have data;
   `stop.patience` watches the validation loss where there is a validation part.
"""

ENGINE_VERSION = 2

APP_ENGINE_VERSION = 1
"""The same for runs of Flower apps: raise it when an app that stays as it is gives another curve."""
