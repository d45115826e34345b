"""Queries of a tape: targets and sources by name, structures, seeds, refusals, explanations."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import s2s
from s2s.errors import S2SValueError, SourceError, UnsupportedError
from s2s.tape.query import Query, _check_alike, _check_equal, _filled, leaves

Pair = namedtuple("Pair", "a b")


@pytest.fixture(autouse=True)
def loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_BACKEND", "loops")


def test_structures() -> None:
    tree = {"a": [1, (2, 3)], "b": Pair(4, []), "c": 5}
    assert list(leaves(tree)) == [1, 2, 3, 4, 5]
    assert _filled(tree, iter("vwxyz")) == {"a": ["v", ("w", "x")], "b": Pair("y", []), "c": "z"}
    assert list(leaves(7)) == [7] and _filled(7, iter("v")) == "v"


def test_options_of_unconnected_sources() -> None:
    class Choice:
        value = "ZERO"

    assert Query("gradient", None, None, "zero").zero and Query("", None, None, Choice()).zero
    assert not Query("gradient", None, None, "none").zero
    with pytest.raises(S2SValueError, match="'none' or 'zero', not 'zeros'"):
        _ = Query("gradient", None, None, "zeros").zero


def made() -> tuple[Any, Any, Any, Any, Any]:
    x, other = s2s.Variable([1.0, 2.0]), s2s.Variable([[5.0]])
    with s2s.GradientTape() as tape:
        y = x * x
        z = np.sum(y) * 3.0
    return tape, x, other, y, z


def test_unconnected_sources() -> None:
    tape, x, other, y, z = made()
    assert tape.gradient(z, other) is None and tape.gradient(z, np.ones(2)) is None
    got = tape.gradient(z, [x, other], unconnected_gradients="zero")
    np.testing.assert_array_equal(got[0], [6.0, 12.0])
    np.testing.assert_array_equal(got[1], [[0.0]])
    assert tape.gradient(np.ones(2), x) is None  # a target that the block did not compute
    assert tape.jacobian(y, other) is None
    zero = tape.jacobian(y, other, unconnected_gradients="zero")
    assert zero.shape == (2, 1, 1) and not np.any(zero)


def test_seeds() -> None:
    tape, x, _, y, z = made()
    np.testing.assert_array_equal(tape.gradient(y, x, output_gradients=np.ones(2)), [2.0, 4.0])
    seeds = [np.array([10.0, 0.0], np.float32), 1.0]
    np.testing.assert_array_equal(tape.gradient([y, z], x, output_gradients=seeds), [26.0, 12.0])
    with pytest.raises(S2SValueError, match="the structure of the target"):
        tape.gradient([y, z], x, output_gradients=[np.ones(2)])


def test_jacobians_are_of_one_target() -> None:
    tape, x, _, y, z = made()
    np.testing.assert_array_equal(tape.jacobian(y, x), [[2.0, 0.0], [0.0, 4.0]])
    for target in ([y, z], {"y": y}):
        with pytest.raises(UnsupportedError, match="a Jacobian is taken of one number or array"):
            tape.jacobian(target, x)


def test_values_of_names_that_are_bound_again() -> None:
    x = np.array([1.0, 2.0])
    first = x
    with s2s.GradientTape() as tape:
        tape.watch(x)
        x = x * 3.0
        y = np.sum(x * x)
    np.testing.assert_array_equal(tape.gradient(y, first), [18.0, 36.0])
    np.testing.assert_array_equal(tape.gradient(y, x), [6.0, 12.0])


def test_one_python_number_by_two_names_is_ambiguous() -> None:
    a = 1.5
    b = a
    with s2s.GradientTape() as tape:
        tape.watch(a)
        y = a * a * b
    with pytest.raises(UnsupportedError, match="a and b are one object"):
        tape.gradient(y, a)


def test_a_tape_without_a_name() -> None:
    x, tape = s2s.Variable(2.0), s2s.GradientTape()
    with tape:
        y = x * x
    with pytest.raises(SourceError, match="the tape has no name: write `with GradientTape"):
        tape.gradient(y, x)


def test_the_replay_is_compared_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S2S_CHECK_REPLAY", "1")
    tape, x, _, _, z = made()
    np.testing.assert_array_equal(tape.gradient(z, x), [6.0, 12.0])


def test_comparisons_of_the_replay() -> None:
    x = np.array([1.0, np.nan])
    _check_alike(x, x + 1.0)
    _check_equal(x, x * (1 + 1e-9), 1.0)
    _check_equal(1e-9, 2e-9, 1.0)  # rounding errors of intermediates of size 1
    for again in (x[:1], x.astype(np.float32)):
        with pytest.raises(UnsupportedError, match="gives an array of shape .* instead of"):
            _check_alike(x, again)
    with pytest.raises(UnsupportedError, match="gives another value when it is computed again"):
        _check_equal(x, x + 0.1, 1.0)


def test_explanations() -> None:
    tape, x, other, y, z = made()
    tape.gradient(z, x)
    assert tape.explain() == "every source has a gradient"
    tape.gradient(z, [x, np.ones(2)])
    assert (
        "source 2 has no gradient: it is no value that the block read or computed" in tape.explain()
    )


def test_gradients_share_no_memory() -> None:
    """They may be written to, one by one."""
    v, w = s2s.Variable(np.ones(3)), s2s.Variable(np.ones(3))
    with s2s.GradientTape() as tape:
        y = np.sum(v + w)
    first, second, third = tape.gradient(y, [v, w, v])
    first *= 0.5
    for other in (second, third):
        np.testing.assert_array_equal(other, np.ones(3))
