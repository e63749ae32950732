"""The version of the engine's numbers, which is part of every run's identity.

Raise it whenever a spec, data and components that stay as they are give another curve, and say here what changed; no
run from before is then taken for one from after, reused or continued.

1  The first wave.
2  What `auto` stands for and which clients make a stack follow from the spec and the device type, where a clock and the
   threads had decided; every operation has one thread, evaluation and aggregation too; whatever a model draws from
   torch's default generator is keyed. `fraction` under hybrid `unify` is of the clients that still have data;
   `stop.patience` watches the validation loss where there is a validation part.
3  Steps are computed otherwise and end with other last bits: those of chains of linear layers and of plain CNNs many in
   one call, Adam's and AdamW's by torch's fused kernel, SCAFFOLD's and FedProx' terms with them; `auto` is `cohort` for
   plain CNNs. Test losses of narrow models and of CNNs are summed in another order.
4  On a CPU in float32 chains of linear layers are trained and scored by functions of our own, client after client: the
   last bits are others, and no other client of a stack has a part in them any more.
"""

ENGINE_VERSION = 4

APP_ENGINE_VERSION = 1
"""The same for runs of Flower apps: raise it when an app that stays as it is gives another curve."""
