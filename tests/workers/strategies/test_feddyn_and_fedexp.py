"""FedDyn and FedExP, with numbers worked out by hand and against plain loops."""

from __future__ import annotations

import numpy as np
import pytest

from tests.workers.engine.tiny import tiny
from tests.workers.strategies.by_hand import Server, answer, tensors
from tests.workers.strategies.test_clients_by_loop import LR, ROUNDS, STEPS, Reference, assert_equal_models, spec_of
from workers.engine import simulate
from workers.errors import SpecError
from workers.spec import parse_run


def test_feddyns_server_goes_beyond_the_mean_by_what_it_remembers() -> None:
    """Two of four clients move from 0 to 2 and 4: h = -0.5 * 2/4 * 3 = -0.75, w = 3 + 0.75 / 0.5 = 4.5.

    Then from 4.5 to 4.5 both: h stays, and w = 4.5 + 1.5.
    """
    server = Server({"name": "feddyn", "alpha": 0.5}, tensors(w=[0.0]), samples={0: 1, 1: 3, 2: 2, 3: 2})

    assert server.round(answer(1, [2.0]), answer(3, [4.0])) == {"w": [4.5]}
    assert server.round(answer(1, [4.5]), answer(3, [4.5])) == {"w": [6.0]}


def test_feddyn_equals_plain_loops() -> None:
    alpha, spec = 0.4, spec_of({"name": "feddyn", "alpha": 0.4})
    reference = Reference(spec)
    own = [[0.0 * value for value in reference.model] for _ in range(5)]
    h = [0.0 * value for value in reference.model]
    for _ in range(ROUNDS):
        start, models = reference.model, []
        for client in range(5):
            model = [value.copy() for value in start]
            for _ in range(STEPS):
                grads = reference.gradient(client, model)
                pulled = zip(model, grads, own[client], start, strict=True)
                model = [v - LR * (g - d + alpha * (v - a)) for v, g, d, a in pulled]
            own[client] = [d - alpha * (v - a) for d, v, a in zip(own[client], model, start, strict=True)]
            models.append(model)
        moved = [sum(model[i] - start[i] for model in models) for i in range(2)]
        h = [each - alpha / 5 * move for each, move in zip(h, moved, strict=True)]
        reference.model = [np.mean([model[i] for model in models], axis=0) - h[i] / alpha for i in range(2)]

    assert_equal_models(simulate(spec), reference)


def test_fedexp_goes_further_where_clients_move_apart() -> None:
    """Movements (3, 0) and (0, 1): mean of squares 5, mean movement (1.5, 0.5) of 2.5: eta = 5 / (2 * 2.5) = 1.

    Movements (4, 0) and (-2, 0): 10 over 2 * 1: eta = 5.
    """
    server = Server({"name": "fedexp", "epsilon": 0.0}, tensors(w=[0.0, 0.0]))

    assert server.round(answer(1, [3.0, 0.0]), answer(7, [0.0, 1.0])) == {"w": [1.5, 0.5]}
    assert server.round(answer(1, [5.5, 0.5]), answer(7, [-0.5, 0.5])) == {"w": [6.5, 0.5]}


def test_feddyn_takes_no_further_server_step() -> None:
    strategy = {"name": "composed", "client": {"name": "feddyn"}, "server": {"name": "adam"}}

    with pytest.raises(SpecError, match="takes a step of its own"):
        parse_run(tiny(strategy=strategy))
