"""What a component file declares. Pure facts only: torch, flwr and ray are imported inside `build`."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from workers.errors import Problem
from workers.streams import stream

if TYPE_CHECKING:
    import torch

    from workers.engine.server.method import Method, MethodContext
    from workers.engine.training.optimizer import StackedOptimizer
    from workers.spec import RunSpec

Kind = Literal["dataset", "model", "partition", "strategy", "optimizer"]
Shape = tuple[int, ...]
QUICK_LOAD_VALUES = 2_000_000
"""So many random values are drawn in well under 100 ms."""


class Parameters(BaseModel):
    """Typed, bounded, frozen parameters of a component; `name` says which component."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        allow_inf_nan=False,
        protected_namespaces=(),
        use_attribute_docstrings=True,
    )

    name: str = ""


class DatasetParameters(Parameters):
    normalise: str = "default"
    """Constants applied after scaling to [0, 1]: default, none, or a name the data set declares."""
    samples: int | None = Field(None, ge=1)
    """Use only so many training samples, the same ones in every run; the test set stays whole. Empty: all."""


class Component(ABC):
    """Base of everything in the catalog. Instances are stateless singletons made by discovery."""

    kind: ClassVar[Kind]
    name: ClassVar[str]
    label: ClassVar[str]
    short: ClassVar[str] = ""
    """What a line or a table calls it, where its label is longer than that."""
    named_by: ClassVar[tuple[str, ...]] = ()
    """Parameters without which its name says too little: FedProx (mu = 0.1)."""
    paper: ClassVar[str] = ""
    version: ClassVar[int] = 1
    origin: ClassVar[str] = ""
    """Where a lab's own component was found; set by discovery, empty for built-in ones."""
    digest: ClassVar[str] = ""
    """Of a lab's own file, which changes more often than its `version`."""
    Params: ClassVar[type[Parameters]] = Parameters

    @property
    def short_label(self) -> str:
        """Its own: one that is built upon another does not go by the other's."""
        return vars(type(self)).get("short") or self.label

    @property
    def summary(self) -> str:
        return (type(self).__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")

    @property
    def stamp(self) -> int | str:
        """Its part in a run's identity."""
        return f"{self.version}+{self.digest}" if self.digest else self.version

    def stamp_in(self, spec: RunSpec) -> int | str:
        """The same for one run, where what its parameters name is code too."""
        return self.stamp

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        """What makes this component impossible in that spec; paths are the spec's own."""
        return ()


@dataclass(frozen=True)
class DatasetFacts:
    """What is known of a data set without loading it."""

    shape: Shape
    classes: int
    train: int
    test: int
    natural_clients: int | None = None
    class_names: tuple[str, ...] = ()

    @property
    def is_image(self) -> bool:
        return len(self.shape) == 3

    @property
    def values(self) -> int:
        return (self.train + self.test) * math.prod(self.shape)


@dataclass(frozen=True)
class Arrays:
    """A loaded data set: images as uint8 or float in [0, 1] (channel first), features as float32, labels as int64.

    `client` names the natural client of each training sample (sorted ids give the client order).
    A data set without a test set of its own has a `test_x` of length 0. `test_client`, where given, names the natural
    client of each test sample: a federation without that client leaves the sample out.
    """

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    client: np.ndarray | None = None
    test_client: np.ndarray | None = None


class ClientSource(ABC):
    """Natural clients whose samples are made one client at a time: what `Dataset.load` gives, cut by client.

    Clients are numbered from 0 in the order that the partition `natural` has them in.
    """

    train_sizes: np.ndarray
    """Training samples of each client."""

    @abstractmethod
    def train_samples(self, client: int) -> tuple[np.ndarray, np.ndarray]:
        """x and y, arrays of the caller's own."""

    @abstractmethod
    def test_samples(self, clients: int) -> tuple[np.ndarray, np.ndarray]:
        """The test set of a federation of the first so many clients."""


@dataclass(frozen=True)
class Normalisation:
    """(x - mean) / std per channel, after scaling to [0, 1]."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


HALF = Normalisation((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
"""Colour pixels to [-1, 1], as many examples of torchvision have it."""


class Dataset(Component):
    kind: ClassVar[Kind] = "dataset"
    Params: ClassVar[type[DatasetParameters]] = DatasetParameters
    licence: ClassVar[str] = ""
    normalisations: ClassVar[dict[str, Normalisation]] = {}

    @abstractmethod
    def facts(self, params: Any) -> DatasetFacts: ...

    @abstractmethod
    def load(self, params: Any) -> Arrays: ...

    @abstractmethod
    def checksum(self, params: Any) -> str:
        """Identifies the content; part of a run's identity."""

    def run_facts(self, params: Any) -> DatasetFacts:
        """The facts of what a run gets."""
        facts = self.facts(params)
        return facts if params.samples is None else replace(facts, train=min(params.samples, facts.train))

    def load_for_run(self, params: Any) -> Arrays:
        """What a run gets: all, or the requested number of training samples in the order they have."""
        arrays = self.load(params)
        if params.samples is None or params.samples >= len(arrays.train_y):
            return arrays
        sample = np.sort(stream(0, "data").permutation(len(arrays.train_y))[: params.samples])
        owners = None if arrays.client is None else arrays.client[sample]
        return replace(arrays, train_x=arrays.train_x[sample], train_y=arrays.train_y[sample], client=owners)

    def client_source(self, params: Any) -> ClientSource | None:
        """Where it can make single clients, for federations that are too large to be loaded whole."""
        return None

    def available(self, params: Any) -> str | None:
        """None where it can be loaded now, otherwise what to do."""
        return None

    def editions(self) -> list[Any]:
        """The parameters under which it is listed: one, unless it comes in several sets that are kept apart."""
        return [self.Params()]

    def loads_at_once(self, params: Any) -> bool:
        """Whether loading takes milliseconds and no heavy library, as the web server wants it."""
        return False

    def normalisation(self, choice: str) -> Normalisation | None:
        return None if choice == "none" else self.normalisations.get(choice)

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        choice = getattr(spec.dataset, "normalise", "default")
        known = ["default", "none", *sorted(set(self.normalisations) - {"default"})]
        if choice not in known:
            yield Problem("dataset.normalise", f"Unknown: {choice}. Choose one of {', '.join(known)}.")
        if spec.dataset.samples is not None and spec.partition.name == "natural":
            yield Problem("dataset.samples", "Natural clients keep all their samples: choose fewer clients instead.")


class Model(Component):
    kind: ClassVar[Kind] = "model"

    @abstractmethod
    def refusal(self, shape: Shape, classes: int, params: Any) -> str | None:
        """Why this model cannot take such data, or None."""

    def parameter_count(self, shape: Shape, classes: int, params: Any = None) -> int:
        """Unless it is overridden, what `build()` makes is counted: once, in a process with torch."""
        from workers.models._counting import counted_parameters

        return counted_parameters(self, shape, classes, params or self.Params())

    @abstractmethod
    def build(self, shape: Shape, classes: int, params: Any) -> torch.nn.Module:
        """The module, initialised from torch's current default generator."""

    def batch_statistics(self, params: Any) -> bool:
        """Whether a sample's output depends on its batch (BatchNorm): such models are never padded."""
        return False

    def fits(self, shape: Shape, classes: int, params: Any = None) -> bool:
        return self.refusal(shape, classes, params or self.Params()) is None

    def problems(self, spec: RunSpec) -> Iterable[Problem]:
        facts = spec.dataset_facts
        if reason := self.refusal(facts.shape, facts.classes, spec.model):
            yield Problem("model", reason)


@dataclass(frozen=True)
class PartitionInput:
    """All a partition may look at: labels of the training set, number of clients, natural client of each sample."""

    labels: np.ndarray
    classes: int
    clients: int
    natural: np.ndarray | None
    rng: np.random.Generator = field(repr=False)


class Partition(Component):
    """Every training index goes to exactly one client, and none is left without; a federation that breaks this is
    refused. The order of a client's indices is the partition's.
    """

    kind: ClassVar[Kind] = "partition"
    leaves_samples_out: ClassVar[bool] = False
    """Samples may go to nobody, as those of natural clients that do not take part."""

    @abstractmethod
    def split(self, data: PartitionInput, params: Any) -> Sequence[np.ndarray]: ...


class Strategy(Component):
    """A federated method: a Flower server strategy and the local rule its clients follow."""

    kind: ClassVar[Kind] = "strategy"
    needs_validation: ClassVar[bool] = False

    def validation_needed(self, params: Any) -> bool:
        """Whether clients must hold a validation part, with these parameters."""
        return self.needs_validation

    pools_data: ClassVar[bool] = False
    """All data are in one place: there are no clients."""

    keeps_its_model: ClassVar[bool] = False
    """The server remembers its model by itself, whatever it is given in the next round."""

    def sends_models(self, params: Any) -> bool:
        """Whether in every round each client of the cohort gets the server's one model and sends its own back."""
        return True

    def model_classes(self, spec: RunSpec) -> int:
        """How many classes the models that clients train in the rounds tell apart."""
        return spec.dataset_facts.classes

    @abstractmethod
    def build(self, params: Any, context: MethodContext) -> Method: ...


class Optimizer(Component):
    """A local optimizer whose update acts on parameters stacked over clients and equals torch.optim's."""

    kind: ClassVar[Kind] = "optimizer"
    sums_gradients: ClassVar[bool] = False
    """Its steps are a fixed weighted sum of gradients, which SCAFFOLD and FedNova rely on."""

    @abstractmethod
    def build(self, params: Any) -> StackedOptimizer: ...


def as_tuple(value: Any) -> Any:
    """A list as YAML and JSON have it, for a parameter that is a tuple."""
    return tuple(value) if isinstance(value, list) else value


def elements(shape: Shape) -> int:
    return math.prod(shape)


def fixed_rate_problems(spec: RunSpec, label: str) -> Iterable[Problem]:
    """For strategies whose server reckons with the clients' learning rate."""
    if spec.local.schedule != type(spec.local).model_fields["schedule"].default:
        yield Problem("local.schedule", f"{label} reckons with one learning rate for all rounds: leave it constant.")


def summed_gradient_problems(spec: RunSpec, label: str) -> Iterable[Problem]:
    """For strategies that undo local steps to get at the gradients behind them."""
    from workers.catalog import load_catalog

    chosen = load_catalog().optimizers[spec.local.optimizer.name]
    if spec.local.keep_optimizer:
        yield Problem(
            "local.keep_optimizer",
            f"{label} divides a client's movement by its steps, which a kept momentum adds to: leave it off.",
        )
    if not chosen.sums_gradients:
        yield Problem(
            "local.optimizer",
            f"{label} divides a client's movement by its steps to get gradients back; {chosen.label} rescales every "
            "coordinate by its history, so that cannot be undone. Choose sgd.",
        )
