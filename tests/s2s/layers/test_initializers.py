"""After `set_seed`, weights and random draws of layers are reproducible."""

from __future__ import annotations

from typing import Any

import numpy as np

from s2s.layers import Dense, Dropout, initializers
from s2s.models import Sequential


def outputs(seed: int | None) -> Any:
    initializers.set_seed(seed)
    model = Sequential([Dense(8), Dropout(0.5), Dropout(0.5)])
    return np.stack([model(np.ones((4, 3)), training=True) for _ in range(2)])


def test_layers_draw_the_same_numbers_in_every_run() -> None:
    first, second = outputs(3)
    assert np.any(first != second)
    np.testing.assert_array_equal(outputs(3), [first, second])
    assert np.any(outputs(4) != [first, second])


def test_layers_do_not_draw_alike() -> None:
    initializers.set_seed(0)
    one, other = (Dropout(0.5)(np.ones(64), training=True) for _ in range(2))
    assert np.any(one != other)
    alike = [Dropout(0.5, seed=1)(np.ones(64), training=True) for _ in range(2)]
    np.testing.assert_array_equal(*alike)
