"""The maximum of two bounds is folded if it is known, and computed at run time otherwise."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.bounds import larger, smaller
from s2s.transforms.lower.loop_ir import nodes as L

N, M = L.Name("n"), L.Name("m")


@pytest.mark.parametrize(
    ("a", "b", "more", "less"),
    [
        (L.lit(3), L.lit(5), L.lit(5), L.lit(3)),
        (N, N, N, N),
        (N, L.add(N, L.ONE), L.add(N, L.ONE), N),
        (L.sub(N, L.lit(2)), L.add(N, L.lit(-1)), L.sub(N, L.ONE), L.sub(N, L.lit(2))),
    ],
    ids=["numbers", "the same", "one more", "both shifted"],
)
def test_known(a, b, more, less):
    assert larger(a, b) == larger(b, a) == more
    assert smaller(a, b) == smaller(b, a) == less


def test_asked():
    assert larger(N, M) == L.select(L.compare(">=", N, M), N, M)
    assert smaller(N, M) == L.select(L.compare("<=", N, M), N, M)
