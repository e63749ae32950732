"""`simulate` computes under one identity: that of the data and code it read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workers.catalog import load_catalog
from workers.engine import simulate, simulation
from workers.engine.checkpoint import CheckpointPolicy, checkpoints_in, load_newest_checkpoint
from workers.engine.records import RoundRecord
from workers.engine.setup import Setup
from workers.errors import FederationError
from workers.spec import IdentityError, canonical_hash, launch_identity, parse_run

RUN: dict[str, Any] = {
    "dataset": {"name": "npz", "file": "own"},
    "model": {"name": "mlp-50"},
    "strategy": {"name": "fedavg"},
    "clients": 3,
    "rounds": 6,
    "engine": "cohort",
}


def import_own(folder: Path, seed: int) -> str:
    path = folder / "own.npz"
    np.savez(path, x=np.random.default_rng(seed).random((60, 4)).astype(np.float32), y=np.arange(60) % 3)
    (manifest,) = load_catalog().datasets["npz"].import_path(str(path)).values()  # type: ignore[attr-defined]
    return str(manifest.checksum)


def test_a_checkpoint_has_the_identity_of_the_data_that_were_read(tmp_path: Path) -> None:
    first = import_own(tmp_path, 1)
    before = canonical_hash(parse_run(RUN))

    def replace_data(record: RoundRecord) -> None:
        if record.round == 3:
            import_own(tmp_path, 2)

    result = simulate(RUN, checkpoint=CheckpointPolicy(tmp_path, every=2), on_round=replace_data, device="cpu")
    after = canonical_hash(parse_run(RUN))
    policy = CheckpointPolicy(tmp_path, resume=checkpoints_in(tmp_path))
    state = load_newest_checkpoint(policy, before)
    assert (before != after, state and state.round, load_newest_checkpoint(policy, after)) == (True, 6, None)
    assert result.provenance["data_checksum"] == first


def test_data_that_are_replaced_while_they_are_read_are_not_computed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = import_own(tmp_path, 3)
    make_setup = simulation.make_setup

    def make_setup_meanwhile(*arguments: Any) -> Setup:
        setup = make_setup(*arguments)
        import_own(tmp_path, 4)
        return setup

    monkeypatch.setattr(simulation, "make_setup", make_setup_meanwhile)
    with pytest.raises(IdentityError, match=rf"The data set own\.npz is not the one .*, not {first[:12]}\."):
        simulate(RUN, device="cpu")


def test_a_run_is_not_computed_under_an_identity_it_was_not_launched_with(tmp_path: Path) -> None:
    import_own(tmp_path, 5)
    launched = launch_identity(parse_run(RUN))
    assert simulate(RUN, launched=launched, device="cpu").history[-1].round == 6
    import_own(tmp_path, 6)
    with pytest.raises(IdentityError) as refusal:
        simulate(RUN, launched=launched, device="cpu")
    assert not refusal.value.code_differs


def test_data_that_are_not_here_are_told_as_that(tmp_path: Path) -> None:
    spec = parse_run({**RUN, "dataset": {"name": "svhn"}})
    with pytest.raises(FederationError, match=r"^SVHN is not here yet: run `manage.py datasets import svhn PATH`"):
        simulate(spec, launched=launch_identity(spec), device="cpu")
