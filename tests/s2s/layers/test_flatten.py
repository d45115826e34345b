"""`Flatten` and `Input`."""

from __future__ import annotations

import numpy as np
import pytest

from s2s.layers import Flatten, Input
from s2s.layers.flatten import SOME, example
from s2s.layers.symbolic_input import Symbol
from tests.s2s.layers.checks import check_gradients, numbers


@pytest.mark.parametrize("shape, flat", [((2, 3, 4), (2, 12)), ((1, 5), (1, 5)), ((3,), (3, 1))])
def test_flatten(shape: tuple[int, ...], flat: tuple[int, ...]) -> None:
    x = numbers(*shape)
    got = Flatten()(x)
    assert got.shape == flat
    np.testing.assert_array_equal(got.ravel(), x.ravel())


def test_flatten_gradient() -> None:
    check_gradients(Flatten(), numbers(2, 3, 2))


def test_an_input_is_a_symbol_with_an_example() -> None:
    given = Input((3, None), dtype="float64")
    assert isinstance(given, Symbol) and given.made is None
    assert given.example.shape == (1, 3, SOME) and given.example.dtype == np.float64
    assert given.shape == (None, 3, SOME)
    assert not np.any(given.example)


def test_an_input_returns_its_inputs() -> None:
    x = numbers(2, 3)
    assert Input((3,))(x) is x


def test_example() -> None:
    assert example((), "int32").shape == (1,) and example((2,), "int32").dtype == np.int32
