"""Data sets, as REST answers with them."""

from __future__ import annotations

from typing import Any

from experiments.api.schemas import Answer, example_config


class DatasetAnswer(Answer):
    model_config = example_config(
        name="femnist",
        label="FEMNIST",
        parameters={"name": "femnist", "subset": "digits"},
        ready=False,
        what_to_do="FEMNIST is not here yet: fetch it on the page Data sets.",
        train=341_873,
        test=40_832,
        classes=10,
        shape=[1, 28, 28],
        natural_clients=3383,
        class_names=["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"],
        bytes=None,
        checksum="",
        licence="CC0",
        paper="Caldas et al. 2018, LEAF",
    )

    name: str
    """What a spec calls it."""
    label: str
    """What people call it."""
    parameters: dict[str, Any]
    """What a spec's `dataset` says to get this one; defaults are left out."""
    ready: bool
    """Whether runs can use it now."""
    what_to_do: str | None
    """Where it is not ready."""
    train: int
    """Training samples."""
    test: int
    """Test samples; 0 where it has no test set of its own."""
    classes: int
    """How many labels there are."""
    shape: list[int]
    """Of one sample."""
    natural_clients: int | None
    """Clients that the data itself has: writers, people; null where it has none."""
    class_names: list[str]
    """In the order of the labels."""
    bytes: int | None
    """On disk; null where it is made when needed, or not here."""
    checksum: str
    """Of what is on disk: part of a run's identity."""
    licence: str
    """Under which it may be used."""
    paper: str
    """Where it comes from."""
