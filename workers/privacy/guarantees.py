"""Differential privacy as a part of a spec, and what would make its guarantee false."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from workers.catalog.part import Part, choice_of
from workers.errors import Problem

if TYPE_CHECKING:
    from workers.spec import RunSpec

OTHER_STRATEGY = (
    "The guarantee is known for the strategy composed alone, where it is clear what clients send: choose it, with "
    "{needs}."
)


class Privacy(Part):
    """(epsilon, delta) of whole clients: nobody can tell from the models whether one client's data were others.

    It holds for replacing all data of one client, by the Renyi accountant of Google's dp-accounting; `privacy.epsilon`
    tells it for each round. Metrics that the lab measures (accuracy, losses) and the numbers of samples are not in it.
    """

    clip: float = Field(1.0, gt=0)
    """Longest movement w_i - w of a client, over all parameters; longer ones are shortened to it."""
    noise: float | None = Field(None, gt=0)
    """Standard deviation of the noise, in units of `clip`; empty where `epsilon` is given."""
    epsilon: float | None = Field(None, gt=0)
    """The epsilon after all rounds, from which the noise follows; empty where `noise` is given."""
    delta: float = Field(1e-5, gt=0, lt=1)
    """The delta for which epsilon is told; below one over the number of clients."""

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        from workers.catalog import load_catalog

        if (self.noise is None) == (self.epsilon is None):
            yield Problem(path, "Give noise or epsilon, and not both: one follows from the other.")
        if spec.client_count and self.delta >= 1 / spec.client_count:
            yield Problem(
                f"{path}.delta",
                f"A delta of 1 / clients or more protects nobody: take less than {1 / spec.client_count:g}.",
            )
        if spec.hybrid.ratio:
            yield Problem(path, "Under hybrid sharing clients hand out their samples, so that nothing is private.")
        if load_catalog().models[spec.model.name].batch_statistics(spec.model):
            yield Problem(path, "Batch statistics are sent without clipping and noise: choose a model without them.")
        yield from self.strategy_problems(spec)

    def strategy_problems(self, spec: RunSpec) -> Iterator[Problem]:
        parts = composed_parts(spec)
        if not parts:
            yield Problem("strategy", OTHER_STRATEGY.format(needs=self.needs))
            return
        if parts["client"] == "scaffold":
            yield Problem("strategy.client", "SCAFFOLD sends control variates besides, without noise: choose another.")
        yield from self.part_problems(parts)

    @property
    def needs(self) -> str:
        return "aggregate uniform"

    def part_problems(self, parts: Mapping[str, str]) -> Iterator[Problem]:
        """Of aggregate and server, by their names."""
        raise NotImplementedError


def composed_parts(spec: RunSpec) -> dict[str, str]:
    """The names of a composed strategy's parts; nothing of any other."""
    fields = spec.strategy.model_dump()
    return (
        {name: fields[name]["name"] for name in ("client", "aggregate", "server")}
        if fields["name"] == "composed"
        else {}
    )


class CentralPrivacy(Privacy):
    """The server clips every client's movement and adds Gaussian noise to their mean, as in DP-FedAvg.

    w <- w + (1 / n) (sum_i d_i min(1, clip / |d_i|) + N(0, (noise clip)^2)), with d_i = w_i - w over the n clients that
    answered; what the server's optimizer makes of that mean is as private. Whoever sees the models learns little of any
    client; the server itself is trusted. That cohorts are drawn, without replacement, makes epsilon smaller.

    With `adaptive` the clip follows the movements: after each round clip <- clip exp(-clip_lr (b - quantile)), b being
    the share of clients that were not clipped, with noise of deviation count_noise on their number. Both noises
    together cost what `noise` alone would: movements get (1 / noise^2 - 1 / (2 count_noise)^2)^(-1/2) in its place
    (Andrew et al.: Differentially Private Learning with Adaptive Clipping, NeurIPS 2021).
    """

    label = "Central"
    paper = "McMahan et al.: Learning Differentially Private Recurrent Language Models, ICLR 2018"
    name: Literal["central"] = "central"
    adaptive: bool = False
    """Whether the clip follows the lengths of the movements; `clip` is then that of the first round."""
    quantile: float = Field(0.5, ge=0, le=1)
    """Share of the clients that an adaptive clip leaves as they are."""
    clip_lr: float = Field(0.2, gt=0)
    """How fast an adaptive clip follows."""
    count_noise: float | None = Field(None, gt=0)
    """Standard deviation of the noise on the number of clients that an adaptive clip left as they are; empty: a
    twentieth of the cohort, at least the noise."""

    def problems(self, spec: RunSpec, path: str) -> Iterable[Problem]:
        yield from super().problems(spec, path)
        if self.count_noise is None:
            return
        if not self.adaptive:
            yield Problem(f"{path}.count_noise", "Without adaptive nothing is counted: leave it empty.")
        elif self.noise is not None and 2 * self.count_noise <= self.noise:
            yield Problem(
                f"{path}.count_noise",
                f"The count alone would cost more than noise {self.noise:g} allows: take more than {self.noise / 2:g}.",
            )

    def part_problems(self, parts: Mapping[str, str]) -> Iterator[Problem]:
        if parts["aggregate"] != "uniform":
            yield Problem(
                "strategy.aggregate",
                "The noise is measured for the plain mean, in which all clients count the same: choose uniform.",
            )
        if parts["server"] == "extrapolation":
            yield Problem(
                "strategy.server",
                "FedExP's step follows from how far each client moved, without clipping and noise: choose another.",
            )


class LocalPrivacy(Privacy):
    """Every client clips its movement and adds Gaussian noise before it sends it: nobody need be trusted.

    A client sends w + d_i min(1, clip / |d_i|) + N(0, (noise clip)^2), from its own stream. `privacy.epsilon` is that
    of a client which took part in all rounds so far; nothing is gained from drawing cohorts. It takes far more noise
    than `central` does for the same epsilon.
    """

    label = "Local"
    paper = "Truex et al.: LDP-Fed: Federated Learning with Local Differential Privacy, EdgeSys 2020"
    name: Literal["local"] = "local"

    @property
    def needs(self) -> str:
        return "any aggregate that needs nothing but models"

    def part_problems(self, parts: Mapping[str, str]) -> Iterator[Problem]:
        if parts["aggregate"] in ("by-loss", "fair"):
            yield Problem("strategy.aggregate", "Clients would send losses besides, without noise: choose another.")


PRIVACY_PARTS: tuple[type[Privacy], ...] = (CentralPrivacy, LocalPrivacy)
if TYPE_CHECKING:
    PrivacyChoice = Privacy
else:
    PrivacyChoice = choice_of(PRIVACY_PARTS)
