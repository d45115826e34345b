"""The maximum of two bounds is folded if it is known, and computed at run time otherwise."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.bounds import symbolic_max, symbolic_min
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
    assert symbolic_max(a, b) == symbolic_max(b, a) == more
    assert symbolic_min(a, b) == symbolic_min(b, a) == less


def test_asked():
    assert symbolic_max(N, M) == L.select(L.compare(">=", N, M), N, M)
    assert symbolic_min(N, M) == L.select(L.compare("<=", N, M), N, M)
