"""Whether arrays share memory: NumPy's exact answer for small arrays, yes where it takes long."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from s2s.runtime.overlap import overlap, overlaps_itself, without_repeated_arrays


def test_the_answer_is_exact() -> None:
    block = np.arange(24).reshape(4, 6)
    views = [block[::2], block[1::2], block[:, ::2], block[:, 1::2], block[:2], block[2:],
             block[::-1, ::3], block.T[1:3], block[:0], block[1:3, 2:4], np.arange(24)]  # fmt: skip
    for a, b in itertools.product(views, views):
        assert overlap(a, b) == np.shares_memory(a, b)


def test_ranges_that_interleave_without_meeting() -> None:
    block = np.arange(100)
    assert not overlap(block[::2], block[1::2]) and overlap(block[::2], block[::3])
    other = np.arange(64, dtype=np.uint8)
    assert not overlap(other[:32].view(np.float64), other[32:])
    assert overlap(other[:40].view(np.float64), other[32:])


def test_hard_questions_are_answered_with_yes() -> None:
    block = np.zeros(10**6, np.int8)
    a = as_strided(block, (9, 9, 9, 9, 9), (3547, 7103, 10007, 12345, 20011))
    b = as_strided(block[1:], (9, 9, 9, 9, 9), (3581, 7109, 10009, 12347, 20021))
    with pytest.raises(np.exceptions.TooHardError):
        np.shares_memory(a, b, max_work=10_000)
    assert overlap(a, b) and overlap(a, a)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x, lambda x: x.T, lambda x: x[::2, ::-1], lambda x: x[:0], lambda x: x[1],
        lambda x: x[:, None], lambda x: x.reshape(-1), lambda x: np.asfortranarray(x),
        lambda x: x[::-1].T[::2], lambda x: x[:1, :1],
    ],
)  # fmt: skip
def test_views_by_indexing_do_not_overlap_with_themselves(view) -> None:
    assert not overlaps_itself(view(np.arange(24.0).reshape(4, 6)))


def test_views_that_repeat_elements() -> None:
    x = np.arange(6.0)
    assert overlaps_itself(np.broadcast_to(x, (3, 6)))
    assert overlaps_itself(np.broadcast_to(1.0, (2,)))
    assert overlaps_itself(sliding_window_view(x, 3))
    assert overlaps_itself(as_strided(x, (4, 2), (8, 8)))
    assert overlaps_itself(as_strided(x, (3, 2), (-8, 8))[:2])
    assert not overlaps_itself(np.broadcast_to(x, (1, 6)))
    assert not overlaps_itself(np.broadcast_to(x[:0], (3, 0)))


def test_other_objects() -> None:
    for thing in (1.5, [1, 2], None, np.float64(2.0), "text"):
        assert not overlaps_itself(thing)


def test_repeated_arrays_are_copied() -> None:
    a, b = np.arange(3.0), np.arange(3.0)
    found = without_repeated_arrays([a, b, a, None, a[:], 2.0])
    assert found[0] is a and found[1] is b and found[3:4] + found[5:] == [None, 2.0]
    arrays = [found[i] for i in (0, 1, 2, 4)]
    assert not any(np.shares_memory(*pair) for pair in itertools.combinations(arrays, 2))
    np.testing.assert_array_equal(found[2], a)
