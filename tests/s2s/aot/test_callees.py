"""Functions of a library that are not inlined: recursion, several results, errors from within."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import s2s
from s2s import aot
from tests.s2s.aot.programs import needs_compiler

pytestmark = needs_compiler


def halves(v, depth):
    if depth == 0:
        raise ValueError("too deep")
    if v.shape[0] <= 1:
        return v * 2.0, 1
    h = v.shape[0] // 2
    low, m = halves(v[:h], depth - 1)
    high, n = halves(v[h:], depth - 1)
    return np.concatenate([high, low]), m + n


def reordered(v, depth):
    w, count = halves(v, depth)
    return np.sum(w * v), count


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Any:
    out = tmp_path_factory.mktemp("aot") / "callees"
    return aot.build(s2s.function(reordered), "float64[n], int64", out=out).load()


def test_arrays_that_are_returned_outlive_those_that_are_not(library) -> None:
    """All of them lie in the heap of the workspace; a block is reused only when it is free."""
    for n in (1, 2, 3, 17, 64, 200):
        v = np.random.default_rng(n).normal(size=n)
        found, count = library.callees(v, 50)
        expected, expected_count = reordered(v, 50)
        assert found == pytest.approx(expected, rel=1e-12)
        assert count == expected_count == n


def test_an_error_within_comes_out(library) -> None:
    v = np.ones(64)
    with pytest.raises(ValueError, match="too deep"):
        library.callees(v, 3)
    assert library.callees(v, 9) == (128.0, 64)


def test_a_small_workspace_is_a_status_from_within(library) -> None:
    call = library._callees
    call.grows = False
    try:
        v = np.ones(3000)
        with pytest.raises(library.LibraryError, match="workspace is too small"):
            library.callees(v, 50)
    finally:
        call.grows = True
    assert library.callees(v, 50) == (6000.0, 3000)
