"""`RunSpec`: one fully resolved run with one seed, validated against the catalog."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from workers.attacks.choice import AttackChoice
from workers.catalog import load_catalog
from workers.catalog.component import Component, DatasetFacts, DatasetParameters, Kind, Parameters, as_tuple
from workers.catalog.part import Part
from workers.compression.compressors import CompressionChoice
from workers.errors import Problem, SpecError
from workers.privacy.guarantees import PrivacyChoice
from workers.selection.selections import SelectionChoice, UniformSelection
from workers.spec.schedules import ConstantSchedule, ScheduleChoice

CONFIG = ConfigDict(
    extra="forbid",
    frozen=True,
    strict=True,
    allow_inf_nan=False,
    use_attribute_docstrings=True,
    protected_namespaces=(),
)


EVERYTHING_SHARED = (
    "At ratio 1 everything is shared and no client holds anything out to evaluate on: take a lower ratio, or evaluate "
    "on the server with a data set that has a test set."
)
CONSTANT = "leave it constant."
NEEDED_VALIDATION = 0.1
NO_VALIDATION = (
    f"needs a validation part: take a share above 0, or leave the field out, which means {NEEDED_VALIDATION:g}."
)


def choice_type(kind: Kind) -> Any:
    """A union of all components of that kind, told apart by `name`."""
    members = [component.Params for component in load_catalog().components[kind].values()]
    return Annotated[reduce(or_, members), Field(discriminator="name")] if len(members) > 1 else members[0]


if TYPE_CHECKING:
    DatasetChoice = DatasetParameters
    ModelChoice = Parameters
    PartitionChoice = Parameters
    StrategyChoice = Parameters
    OptimizerChoice = Parameters
else:
    DatasetChoice = choice_type("dataset")
    ModelChoice = choice_type("model")
    PartitionChoice = choice_type("partition")
    StrategyChoice = choice_type("strategy")
    OptimizerChoice = choice_type("optimizer")


class SpecPart(BaseModel):
    model_config = CONFIG


ClassWeights = Annotated[tuple[Annotated[float, Field(ge=0)], ...], BeforeValidator(as_tuple), Field(min_length=2)]


class Hybrid(SpecPart):
    method: Literal["share-disjoint", "unify"] = "share-disjoint"
    """share-disjoint: every client shares part of its samples. unify: some clients share all of theirs."""
    ratio: float = Field(0.0, ge=0, le=1)
    """0 is federated, 1 is centralised."""


class Local(SpecPart):
    epochs: int = Field(1, ge=1, le=10_000)
    """Passes over a client's data per round."""
    batch_size: int = Field(32, ge=1)
    """Samples per local step; the last batch of an epoch may be smaller."""
    optimizer: OptimizerChoice = Field(default_factory=lambda: load_catalog().optimizers["sgd"].Params())
    steps: int | None = Field(None, ge=1, le=1_000_000)
    """Local steps of every client in a round, in place of epochs; small clients go through their data more often."""
    schedule: ScheduleChoice = ConstantSchedule()
    """How the learning rate goes over the rounds."""
    clip_norm: float | None = Field(None, gt=0)
    """Longest gradient of a local step, over all parameters; longer ones are shortened to it."""
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    """Share of a label that is spread over all classes while training."""
    keep_optimizer: bool = False
    """Whether a client's momentum goes on in its next round, and does not begin anew."""
    augment: Literal["none", "flip", "crop", "crop-flip"] = "none"
    """Random changes of training pictures: a mirror image, a crop out of 4 black pixels around it, or both."""
    class_weights: ClassWeights | None = None
    """What a sample's training loss is multiplied by, for each class, before the mean over the batch. In a grid it is
    written [[...]]. Empty: every class counts once."""


class Evaluation(SpecPart):
    on: Literal["server", "clients", "both"] = "server"
    """server: the global test set. clients: each client's own held-out part, weighted by its size. both: both."""
    every: int = Field(1, ge=1)
    """Evaluate each so many rounds (and always the last)."""
    clients: Literal["all", "cohort"] = "all"
    """Which clients evaluate, where evaluation is on the clients or both."""
    held_out: float = Field(0.2, gt=0, lt=1)
    """Share of each client's data kept for evaluation, where evaluation is on the clients or both."""
    validation: float = Field(0.0, ge=0, lt=1)
    """Share of each client's data kept for validation: not trained on. A strategy that needs it gets 0.1."""


class Stop(SpecPart):
    target_accuracy: float | None = Field(None, gt=0, le=1)
    """End the run once this accuracy is reached."""
    patience: int | None = Field(None, ge=1)
    """End the run after so many evaluations without a better validation loss. With evaluation.validation 0 it watches
    the test loss, so the stopping round is chosen on the test set."""


class RunSpec(SpecPart):
    dataset: DatasetChoice
    model: ModelChoice
    strategy: StrategyChoice
    partition: PartitionChoice = Field(default_factory=lambda: load_catalog().partitions["iid"].Params())
    feature_noise: float = Field(0.0, ge=0)
    """Sigma of the Gaussian noise on a client's data, which grows from the first client to the last."""
    feature_noise_kind: Literal["variance", "deviation"] = "variance"
    """variance: client i = 1..N gets variance sigma * i / N on its [0, 1] data. deviation: client i = 0..N-1 gets
    standard deviation sigma * i / (N - 1), after normalisation, as in NIID-Bench's code."""
    hybrid: Hybrid = Hybrid()
    clients: int | None = Field(10, ge=1)
    """Number of clients; null takes all natural clients."""
    cohort: int | None = Field(None, ge=1)
    """Clients per round; otherwise from `fraction`."""
    fraction: float = Field(1.0, gt=0, le=1)
    """Share of the clients that take part in a round, at least one; of those that still have data under unify."""
    selection: SelectionChoice = UniformSelection()
    """How the clients of a round are chosen."""
    client_dropout: float = Field(0.0, ge=0, lt=1)
    """Probability that a sampled client fails to answer."""
    stragglers: float = Field(0.0, ge=0, le=1)
    """Share of the cohort that does only a random part of its local epochs."""
    rounds: int = Field(20, ge=1, le=1_000_000)
    """Server steps."""
    local: Local = Field(default_factory=Local)
    server_schedule: ScheduleChoice = ConstantSchedule()
    """How the server's learning rate goes over the rounds; where it has none, its share of the way to the new model."""
    evaluation: Evaluation = Evaluation()
    stop: Stop = Stop()
    attack: AttackChoice | None = None
    """What malicious clients do; empty: there are none."""
    privacy: PrivacyChoice | None = None
    """Differential privacy of clients; empty: none."""
    compression: CompressionChoice | None = None
    """How clients shorten what they send; empty: they send all of it."""
    seed: int = Field(0, ge=0, lt=2**31)
    """Every random draw of the run follows from it."""
    engine: Literal["auto", "cohort", "sequential", "ray"] = "auto"
    """How the cohort is computed; part of a run's identity unless it is auto."""
    precision: Literal["float32", "float64"] = "float32"
    """In which numbers a run is computed."""

    @cached_property
    def dataset_facts(self) -> DatasetFacts:
        return load_catalog().datasets[self.dataset.name].run_facts(self.dataset)

    @property
    def parts(self) -> dict[str, Part]:
        """What is optional and has parameters of its own, by path."""
        choices: dict[str, Part | None] = {
            "attack": self.attack,
            "privacy": self.privacy,
            "compression": self.compression,
            "selection": self.selection,
        }
        return {path: part for path, part in choices.items() if part is not None}

    @property
    def client_count(self) -> int:
        """Clients before hybrid sharing; `clients: null` means all natural ones."""
        return self.clients or self.dataset_facts.natural_clients or 0

    @property
    def watches_validation(self) -> bool:
        """Whether `stop.patience` follows the validation loss; otherwise it follows the test loss."""
        return self.stop.patience is not None and self.evaluation.validation > 0

    @property
    def candidates(self) -> int:
        """Clients that a cohort is drawn from: those that hybrid sharing left with data of their own."""
        if self.hybrid.ratio == 1:
            return 0
        givers = rounded_share(self.hybrid.ratio, self.client_count) if self.hybrid.method == "unify" else 0
        return self.client_count - givers

    @property
    def cohort_size(self) -> int:
        return self.cohort_among(self.candidates)

    def cohort_among(self, candidates: int) -> int:
        """Clients per round out of so many; a `cohort` of more takes all of them."""
        return min(self.cohort, max(1, candidates)) if self.cohort else max(1, rounded_share(self.fraction, candidates))


def rounded_share(ratio: float, count: int) -> int:
    """Rounded down, forgiving the representation of decimal ratios (0.29 of 100 is 29)."""
    return math.floor(ratio * count + 1e-9)


def parse_run(data: Mapping[str, Any] | RunSpec) -> RunSpec:
    """A valid spec, or a `SpecError` that lists every problem with its path."""
    if isinstance(data, RunSpec):
        return data
    try:
        spec = RunSpec.model_validate(dict(data))
    except ValidationError as error:
        raise SpecError(validation_problems(error, data, RunSpec)) from None
    spec = fill_in_validation(spec)
    if problems := tuple(cross_problems(spec)):
        raise SpecError(problems)
    return spec


def fill_in_validation(spec: RunSpec) -> RunSpec:
    """With a validation part where the strategy needs one and the spec leaves it out: a tenth, or half of what the

    held-out part leaves. It is then in the spec like any other value: stored, hashed and shown.
    """
    evaluation = spec.evaluation
    if "validation" in evaluation.model_fields_set or not needs_validation(spec):
        return spec
    share = min(NEEDED_VALIDATION, (1 - evaluation.held_out) / 2)
    return spec.model_copy(update={"evaluation": evaluation.model_copy(update={"validation": share})})


def needs_validation(spec: RunSpec) -> bool:
    return load_catalog().strategies[spec.strategy.name].validation_needed(spec.strategy)


def validation_problems(error: ValidationError, data: Any, model: type[BaseModel]) -> Iterator[Problem]:
    for each in error.errors(include_url=False):
        path = ".".join(str(part) for part in location_without_tags(each["loc"], data))
        yield Problem(path, plain_message(each, model))


@cache
def fields_at(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The names that may stand at that place, which pydantic tells with its union tags."""
    root = model.model_json_schema()
    node: Mapping[str, Any] = root
    for part in location:
        node = node.get("properties", {}).get(part) or {
            "$ref": node.get("discriminator", {}).get("mapping", {}).get(part)
        }
        node = next((each for each in node.get("anyOf", [node]) if each.get("type") != "null"), node)
        if reference := node.get("$ref"):
            node = root["$defs"][reference.rpartition("/")[2]]
    return list(node.get("properties", ()))


def location_without_tags(location: tuple[int | str, ...], data: Any) -> Iterator[int | str]:
    """The location without the union tags that pydantic puts into it (strategy.fedprox.mu -> strategy.mu)."""
    for part in location:
        if isinstance(data, Mapping) and part not in data and part == data.get("name"):
            continue
        yield part
        data = data.get(part) if isinstance(data, Mapping) else None


def plain_message(error: Any, model: type[BaseModel]) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        known = fields_at(model, error["loc"][:-1])
        hint = did_you_mean(str(error["loc"][-1]), known)
        return f"Unknown field.{hint} Choose one of {', '.join(known)}." if known else "Unknown field."
    if kind == "missing":
        return "This field is required."
    if kind == "union_tag_invalid":
        names = context["expected_tags"].replace("'", "")
        hint = did_you_mean(str(context["tag"]), names.split(", "))
        return f"Unknown name: {context['tag']}.{hint} Choose one of {names}.{plugin_hint()}"
    if kind == "union_tag_not_found":
        return "A name is required."
    if kind in ("model_type", "model_attributes_type"):
        return f"Expected a mapping such as {{name: ...}}, got {error['input']!r}."
    return f"{error['msg']}, got {error['input']!r}."


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """The name that is most like it, where one is: `fedporx` is fedprox, `fedmagic` nothing."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return f" Did you mean {close[0]}?" if close else ""


def plugin_hint() -> str:
    if not load_catalog().problems:
        return ""
    return " Some of the lab's own components could not be read: `manage.py doctor` says why."


def cross_problems(spec: RunSpec) -> Iterator[Problem]:
    """What no single field can see: components that do not fit each other, cohorts that cannot be drawn."""
    catalog, facts = load_catalog(), spec.dataset_facts
    components: list[tuple[Kind, Parameters]] = [
        ("dataset", spec.dataset),
        ("model", spec.model),
        ("partition", spec.partition),
        ("strategy", spec.strategy),
        ("optimizer", spec.local.optimizer),
    ]
    for kind, params in components:
        yield from fit_problems(catalog.get(kind, params.name), spec)
    yield from class_weight_problems(spec)
    yield from local_training_problems(spec)
    yield from server_schedule_problems(spec)
    for path, part in spec.parts.items():
        yield from part.problems(spec, path)
    if spec.clients is None and facts.natural_clients is None:
        yield Problem("clients", f"{spec.dataset.name} has no natural clients: give a number.")
    elif spec.client_count > facts.train:
        yield Problem("clients", f"{spec.client_count} clients, but only {facts.train} training samples.")
    if spec.cohort is not None and spec.client_count and spec.cohort > spec.client_count:
        yield Problem("cohort", f"{spec.cohort} clients per round, but only {spec.client_count} clients.")
    if spec.hybrid.ratio == 1 and (spec.evaluation.on != "server" or not facts.test):
        yield Problem("hybrid.ratio", EVERYTHING_SHARED)
    if spec.evaluation.held_out + spec.evaluation.validation >= 1:
        yield Problem("evaluation.validation", "Held-out and validation parts leave nothing to train on.")
    if not spec.evaluation.validation and needs_validation(spec):
        label = catalog.strategies[spec.strategy.name].label
        yield Problem("evaluation.validation", f"{label} {NO_VALIDATION}")


def class_weight_problems(spec: RunSpec) -> Iterator[Problem]:
    weights, classes = spec.local.class_weights, spec.dataset_facts.classes
    if weights is None:
        return
    if len(weights) != classes:
        yield Problem(
            "local.class_weights", f"{len(weights)} weights, but {spec.dataset.name} has {classes} classes: one each."
        )
    elif not any(weights):
        yield Problem("local.class_weights", "All weights are 0, so that nothing is learnt: give one class at least 1.")
    if load_catalog().strategies[spec.strategy.name].model_classes(spec) != classes:
        label = load_catalog().strategies[spec.strategy.name].label
        yield Problem("local.class_weights", f"The models that {label} trains have other classes: leave it empty.")


def local_training_problems(spec: RunSpec) -> Iterator[Problem]:
    local, catalog = spec.local, load_catalog()
    if local.augment != "none" and not spec.dataset_facts.is_image:
        yield Problem("local.augment", f"The samples of {spec.dataset.name} are no pictures: leave it none.")
    if local.keep_optimizer and local.optimizer.name != "sgd":
        yield Problem(
            "local.keep_optimizer",
            "Adam's steps depend on how many were before, which differs between clients: choose sgd, or leave it off.",
        )
    if local.keep_optimizer and not catalog.strategies[spec.strategy.name].sends_models(spec.strategy):
        label = catalog.strategies[spec.strategy.name].label
        yield Problem("local.keep_optimizer", f"{label} hands on or forgets what clients keep: leave it off.")


def schedules_server(spec: RunSpec) -> bool:
    return spec.server_schedule != ConstantSchedule()


def server_schedule_problems(spec: RunSpec) -> Iterator[Problem]:
    strategy = load_catalog().strategies[spec.strategy.name]
    if schedules_server(spec) and strategy.keeps_its_model:
        yield Problem("server_schedule", f"{strategy.label} goes on from the model that it made itself: {CONSTANT}")
    elif schedules_server(spec) and not strategy.sends_models(spec.strategy):
        yield Problem("server_schedule", f"{strategy.label} has no step from one model to the next: {CONSTANT}")


def fit_problems(component: Component, spec: RunSpec) -> tuple[Problem, ...]:
    """A lab's own component that stumbles over a spec refuses it; a built-in one has a fault that must show."""
    try:
        return tuple(component.problems(spec))
    except Exception as error:
        if not component.origin:
            raise
        path = "local.optimizer" if component.kind == "optimizer" else component.kind
        problem = f"{component.label} could not check this spec ({type(error).__name__}: {error})"
        return (Problem(path, f"{problem}: mend {component.origin}."),)
