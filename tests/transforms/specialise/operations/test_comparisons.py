"""`in` of a set: as in Python, where equality decides; other elements are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s


def _loops(f: Any) -> Any:
    return s2s.function(f, backend="loops")


def test_members_of_a_set() -> None:
    def f(x: float, k: int, mode: str) -> Any:
        found = [x in {1.0, 2.5, x * 0.0}, k not in {1, 2}, 2.0 in {k, 3}, mode in {"a", None}]
        return np.array([1.0 if value else 0.0 for value in found])

    for args in ((1.0, 1, "a"), (2.0, 2, "b"), (0.0, 3, "a")):
        assert list(_loops(f)(*args)) == list(f(*args))


def test_the_right_operand_is_evaluated_after_the_left_one_and_only_if_needed() -> None:
    def f(x: float) -> Any:
        log = []

        def note(k: float) -> float:
            log.append(k)
            return k

        if note(1.0) < note(x) in {note(3.0), note(4.0)} or note(5.0) in {note(6.0)}:
            log.append(7.0)
        return sum([2.0**i * v for i, v in enumerate(log)])

    assert _loops(f)(3.0) == f(3.0)


@pytest.mark.parametrize(
    "value", [np.float32(0.1), np.array([1.0]), np.array(1.0, np.float32), (1.0, 2.0)], ids=repr
)
def test_other_elements_are_refused(value: Any) -> None:
    """`np.float32(0.1) == 0.1` holds, and `np.float32(0.1) in {0.1}` does not."""

    def left(x: Any) -> float:
        return 1.0 if x in {0.1, 2.0} else 0.0

    def right(x: Any) -> float:
        return 1.0 if 0.1 in {2.0, x} else 0.0

    for f in (left, right):
        with pytest.raises(s2s.UnsupportedError, match="`in` a set is not supported for"):
            _loops(f)(value)


def test_sets_elsewhere_are_refused() -> None:
    def f(x: float) -> float:
        members = {x, 2.0}
        return 1.0 if x in members else 0.0

    with pytest.raises(s2s.UnsupportedError, match="sets are not supported"):
        _loops(f)(1.0)
