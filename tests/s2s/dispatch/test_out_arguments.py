"""`out=`: buffers of the caller, by structure, dtype, rank, shape and memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s.errors import S2STypeError, S2SValueError


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


def squares(x: Any) -> Any:
    return np.sum(x * x)


def twice(x: Any, y: Any) -> Any:
    return np.sum(x * y)


def nested(p: Any) -> Any:
    return np.sum(p["w"][0] ** 2) * p["b"]


X = np.array([1.0, 2.0])


def test_the_buffer_is_the_result() -> None:
    buffer = np.full(2, 7.0)
    assert s2s.grad(squares)(X, out=buffer) is buffer
    np.testing.assert_array_equal(buffer, [2.0, 4.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.empty((2, 2))[:, 0],
        lambda: np.empty(4)[::-2],
        lambda: np.empty(17, np.uint8)[1:].view(np.float64),
        lambda: np.empty(2).view(np.recarray),
    ],
    ids=["strided", "reversed", "unaligned", "subclass"],
)
def test_buffers_that_a_kernel_cannot_write_into(make: Any) -> None:
    buffer = make()
    assert s2s.grad(squares)(X, out=buffer) is buffer
    np.testing.assert_array_equal(np.array(buffer), [2.0, 4.0])


def test_gradients_of_numbers_go_into_arrays_of_rank_0() -> None:
    buffer = np.empty(())
    value, got = s2s.value_and_grad(lambda x: x * x)(3.0, out=buffer)
    assert value == 9.0 and got is buffer and buffer == 6.0


def test_structures() -> None:
    w, b = np.empty(2), np.empty(())
    got = s2s.grad(nested)({"w": (X,), "b": 3.0}, out={"w": (w,), "b": b})
    assert got["w"][0] is w and got["b"] is b
    np.testing.assert_array_equal(w, [6.0, 12.0])
    assert b == 5.0


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda x: np.empty(3), S2SValueError, r"shape \(3,\), but the gradient has \(2,\)"),
        (lambda x: np.empty((2, 2)), S2SValueError, "out for x has 2 axes, but the gradient 1"),
        (lambda x: np.empty(2, np.float32), S2STypeError, "of float32, but the gradient of fl"),
        (lambda x: [0.0, 0.0], S2STypeError, "out for x is a list, not an array"),
        (lambda x: x, S2SValueError, "out overlaps the argument x in memory"),
        (lambda x: x[::-1], S2SValueError, "out overlaps the argument x in memory"),
        (lambda x: np.broadcast_to(0.0, 2), S2SValueError, "read-only"),
        (lambda x: np.ma.masked_array(np.empty(2)), S2STypeError, "is a masked array"),
        (lambda x: np.lib.stride_tricks.as_strided(np.empty(1), (2,), (0,)), S2SValueError,
         "elements of out for x overlap in memory"),
    ],
)  # fmt: skip
def test_unfit_buffers(make: Any, error: type, message: str) -> None:
    x = X.copy()
    with pytest.raises(error, match=message):
        s2s.grad(squares)(x, out=make(x))
    np.testing.assert_array_equal(x, X)


def test_one_buffer_for_each_argument() -> None:
    gradient = s2s.grad(twice, wrt=("x", "y"))
    a, b = np.empty(2), np.empty(2)
    assert gradient(X, X + 1.0, out=(a, b))[1] is b
    np.testing.assert_array_equal(b, X)
    for out in (a, (a,), (a, b, b), {"x": a, "y": b}):
        with pytest.raises(S2STypeError, match="out must be a tuple of 2: one buffer per wrt"):
            gradient(X, X + 1.0, out=out)
    with pytest.raises(S2SValueError, match="two buffers of out overlap in memory"):
        gradient(X, X + 1.0, out=(a, a))


def test_structures_that_do_not_fit() -> None:
    gradient = s2s.grad(nested)
    for out in ({"w": (np.empty(2),)}, [1, 2]):
        with pytest.raises(S2STypeError, match=r"out for p has no '[bw]'"):
            gradient({"w": (X,), "b": 3.0}, out=out)
    with pytest.raises(S2STypeError, match=r"out for p\['w'\] has no 0"):
        gradient({"w": (X,), "b": 3.0}, out={"w": (), "b": np.empty(())})
