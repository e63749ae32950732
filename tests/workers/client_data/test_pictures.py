"""Pictures show what a run would train on."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from workers.catalog import load_catalog
from workers.client_data.assignment import assign_samples, federation_fields, federation_spec
from workers.client_data.overviews import make_overview, overview_key
from workers.client_data.pictures import (
    client_pictures,
    earliest_samples,
    noisy_sample,
    partition_positions,
    pictured_clients,
)
from workers.client_data.store import read_pictures
from workers.engine.federation import make_federation

SMALL = {"name": "blobs", "shape": [1, 4, 4], "train": 60}


@pytest.mark.parametrize("method", ["share-disjoint", "unify"])
def test_each_sample_carries_the_noise_that_a_run_gives_it(method: str) -> None:
    spec = federation_spec(
        {"dataset": SMALL, "clients": 4, "feature_noise": 0.3, "hybrid": {"method": method, "ratio": 0.5}, "seed": 7}
    )
    assignment, federation = assign_samples(spec), make_federation(spec)
    positions = partition_positions(assignment)
    for client in assignment.clients:
        for index in earliest_samples(client.train, positions):
            assert np.array_equal(noisy_sample(assignment, index, *positions[index])[0], federation.x[index])


def test_pictures_show_noise_that_comes_after_normalising_as_pixels_have_it() -> None:
    spec = federation_spec(
        {"dataset": {**SMALL}, "clients": 4, "feature_noise": 0.3, "feature_noise_kind": "deviation", "seed": 7}
    )
    assignment, federation = assign_samples(spec), make_federation(spec)
    positions = partition_positions(assignment)
    clean, noisy = assignment.clients[0].train[0], assignment.clients[3].train[0]
    for index in (clean, noisy):
        assert np.allclose(noisy_sample(assignment, index, *positions[index])[0], federation.x[index])
    assert np.array_equal(federation.x[clean], assignment.arrays.train_x[clean])
    assert not np.array_equal(federation.x[noisy], assignment.arrays.train_x[noisy])


def test_the_kind_of_noise_is_part_of_what_a_picture_shows() -> None:
    noise = {"dataset": SMALL, "clients": 4, "feature_noise": 0.3}
    plain, deviation = (federation_spec({**noise, "feature_noise_kind": kind}) for kind in ("variance", "deviation"))
    assert federation_fields(plain) == federation_fields(federation_spec(noise))
    assert federation_fields(plain) != federation_fields(deviation)
    assert federation_fields(deviation)["dataset"]["normalise"] == "default"


def test_a_row_for_each_client_and_white_where_it_has_no_more() -> None:
    content = client_pictures(assign_samples(federation_spec({"dataset": {**SMALL, "train": 9}, "clients": 3})))
    assert content is not None
    pixels = np.asarray(Image.open(io.BytesIO(content)))
    assert pixels.shape == (3 * 5 - 1, 10 * 5 - 1)
    assert (pixels[:, 15:] == 255).all()


def test_of_many_clients_twelve_are_shown_and_the_shared_one() -> None:
    spec = federation_spec({"dataset": {**SMALL, "train": 600}, "clients": 100, "hybrid": {"ratio": 0.5}})
    assert [client.index for client in pictured_clients(assign_samples(spec).clients)] == [
        0, 9, 18, 27, 36, 45, 54, 63, 72, 81, 90, 99, -1,
    ]  # fmt: skip


def test_features_have_no_pictures() -> None:
    assert client_pictures(assign_samples(federation_spec({"dataset": {"name": "blobs"}}))) is None


def test_a_look_counts_classes_and_shows_three_of_each() -> None:
    blobs = load_catalog().datasets["blobs"]
    params = blobs.Params(shape=(1, 4, 4), classes=5, train=20)
    overview = make_overview(blobs, params)
    assert (overview.counts, overview.pictures) == ((4, 4, 4, 4, 4), True)
    content = read_pictures(overview_key(blobs, params))
    assert content is not None
    assert Image.open(io.BytesIO(content)).size == (5 * 5 - 1, 3 * 5 - 1)


def test_of_many_classes_some_are_shown() -> None:
    blobs = load_catalog().datasets["blobs"]
    params = blobs.Params(shape=(3, 4, 4), classes=62, train=620)
    make_overview(blobs, params)
    content = read_pictures(overview_key(blobs, params))
    assert content is not None
    assert Image.open(io.BytesIO(content)).size == (12 * 5 - 1, 3 * 5 - 1)
