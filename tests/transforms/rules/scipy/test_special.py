"""Functions of an order: what an order may be, and the dtypes that SciPy computes in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

from s2s.transforms.ir.errors import UnsupportedError
from tests.transforms.rules.numeric import call, check_derivatives

X = np.array([0.5, 2.0, 7.5])
NAMES = ["jv", "jn", "iv", "ive"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", [0, 1, 4, -1, -2, 3.0])
def test_whole_orders(name: str, order: Any) -> None:
    got = call(f"scipy.special.{name}", order, X)
    np.testing.assert_allclose(got, getattr(scipy.special, name)(order, X), rtol=1e-10)


@pytest.mark.parametrize("name", [*NAMES, "polygamma"])
def test_other_orders_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="is no integer") as error:
        call(f"scipy.special.{name}", 0.5, X)
    assert "give it an int" in error.value.advice
    with pytest.raises(UnsupportedError, match="is no integer"):
        call(f"scipy.special.{name}", np.float64(2.0), X)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int64"])
def test_dtypes_are_scipys(dtype: str) -> None:
    x = np.array([1, 2], dtype)
    for name in NAMES:
        got = call(f"scipy.special.{name}", 1, x)
        want = getattr(scipy.special, name)(1, x)
        np.testing.assert_allclose(got, want, rtol=1e-5)
        assert got.dtype == want.dtype, name
    for name in ("j0", "j1", "i0", "i1", "i0e", "i1e"):
        want = getattr(scipy.special, name)(x)
        got = call(f"scipy.special.{name}", x)
        np.testing.assert_allclose(got, want, rtol=1e-5)
        assert got.dtype == want.dtype, name
    assert call("scipy.special.polygamma", 1, x).dtype == np.float64


@pytest.mark.parametrize("order", [0, 1, 3])
@pytest.mark.parametrize("name", ["jv", "iv", "ive"])
def test_derivatives_by_the_argument(name: str, order: int) -> None:
    check_derivatives(name, np.int64(order), X, wrt=[1])
    check_derivatives(name, np.int64(order), -X, wrt=[1])


def test_polygammas() -> None:
    for order in (0, 1, 2, 5):
        np.testing.assert_allclose(
            call("scipy.special.polygamma", order, X), scipy.special.polygamma(order, X), rtol=1e-10
        )
