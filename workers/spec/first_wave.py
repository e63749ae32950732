"""The fields that specs had in the first wave, always part of a run's identity. Frozen: nothing is ever added here.

By part of the spec, and by place and name of a component.
"""

from __future__ import annotations

SAMPLES = "normalise samples"
LAYERS = "activation norm dropout"
GROUPS = "eps min_samples probe_epochs noise late_clients late_round"
ADAPTIVE = "server_lr beta1 tau"
SWAPS = "h1 h2 swap_share"
ADAM = "lr beta1 beta2 eps weight_decay"

FIRST_WAVE_TEXTS = {
    "": (
        "dataset model strategy partition feature_noise hybrid clients cohort fraction client_dropout stragglers "
        "rounds local evaluation stop attack privacy compression seed precision"
    ),
    "hybrid": "method ratio",
    "local": "epochs batch_size optimizer",
    "evaluation": "on every clients held_out validation",
    "stop": "target_accuracy patience",
    "dataset blobs": f"{SAMPLES} shape classes train test spread",
    "dataset cifar10": SAMPLES,
    "dataset cifar100": SAMPLES,
    "dataset cinic10": SAMPLES,
    "dataset digits": SAMPLES,
    "dataset fashion-mnist": SAMPLES,
    "dataset femnist": f"{SAMPLES} subset",
    "dataset mnist": SAMPLES,
    "dataset npz": f"{SAMPLES} file",
    "dataset svhn": SAMPLES,
    "dataset synthetic": f"{SAMPLES} alpha beta devices features classes",
    "dataset uci-har": SAMPLES,
    "model cnn-32-64-100": LAYERS,
    "model cnn-32-64-512": LAYERS,
    "model cnn-32-64-64": LAYERS,
    "model detector": LAYERS,
    "model lenet": LAYERS,
    "model mlp-256-128-64": LAYERS,
    "model mlp-50": LAYERS,
    "model mobilenet": "stem norm width",
    "model mobilenet-v2": "stem norm width dropout",
    "model resnet18": "stem norm",
    "model xception": "stem norm width",
    "partition classes-per-client": "k assign",
    "partition label-dirichlet": "alpha balanced min_size",
    "partition quantity-dirichlet": "beta min_size",
    "partition shards": "per_client",
    "strategy athena": f"{GROUPS} tolerance freeze",
    "strategy clustered-fedavg": GROUPS,
    "strategy fedadagrad": ADAPTIVE,
    "strategy fedadam": f"{ADAPTIVE} beta2",
    "strategy fedavg": "every",
    "strategy fedavgm": "server_lr server_momentum nesterov",
    "strategy fedloss": "with_samples",
    "strategy fedprox": "mu",
    "strategy fedswap": SWAPS,
    "strategy fedtrimmedavg": "trim",
    "strategy fedyogi": f"{ADAPTIVE} beta2",
    "strategy krum": "malicious",
    "strategy multikrum": "malicious keep",
    "strategy qfedavg": "q",
    "strategy scaffold": "option server_lr weighting correction",
    "strategy simfedswap": f"{SWAPS} pairing similarity",
    "local.optimizer adam": ADAM,
    "local.optimizer adamw": ADAM,
    "local.optimizer sgd": "lr momentum nesterov weight_decay",
}
FIRST_WAVE_FIELDS = {place: frozenset(text.split()) for place, text in FIRST_WAVE_TEXTS.items()}
