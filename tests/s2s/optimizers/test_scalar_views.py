"""Rates and counts as scalars with the methods of Variables; in compiled code, plain scalars."""

from __future__ import annotations

import numpy as np
import pytest

import s2s
from s2s.optimizers import SGD
from s2s.optimizers.scalar_views import Count, Rate, count, rate


def test_a_rate_is_a_float() -> None:
    optimizer = SGD(0.1)
    made = rate(0.1, optimizer)
    assert isinstance(made, Rate) and made == 0.1 and made * 2.0 == 0.2
    assert made.numpy() == np.float32(0.1) and made.numpy().dtype == np.float32
    made.assign(0.5)
    assert optimizer.learning_rate == 0.5 and made == 0.1  # a view of the time it was read


def test_a_count_is_an_int() -> None:
    made = count(3)
    assert isinstance(made, Count) and made + 1 == 4 and [0, 1, 2, 3][made] == 3
    assert made.numpy() == 3 and made.numpy().dtype == np.int64


def test_a_rate_of_a_schedule_is_not_assigned() -> None:
    with pytest.raises(TypeError, match="follows a schedule"):
        SGD(lambda step: 0.1).learning_rate.assign(0.5)


@pytest.mark.parametrize("backend", ["loops", "python"])
def test_in_compiled_code(backend: str) -> None:
    optimizer = SGD(0.25)
    read = s2s.function(
        lambda x: x * optimizer.learning_rate + optimizer.iterations, backend=backend
    )
    assert read(2.0) == 0.5
    optimizer.learning_rate, optimizer.iterations = 0.5, 3
    assert read(2.0) == 4.0
