"""A scalar that is the only thing ever stored in a buffer, and read from it later."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.analysis.stored_scalars import only_stores
from s2s.transforms.lower.loop_ir import nodes as L
from tests.transforms.lower.loop_ir_text import ir

TYPES = {"k": "int64", "w": "float64", "t": "int64[:]"}
MADE = "t = np.empty((n,), np.int64)"
LATER = "for i in range(n):\n    s = t[i]"


def kept(*parts: str) -> list[tuple[str, ...]]:
    body = ir("\n".join(parts), **TYPES)
    found = only_stores(body)
    stores = [s for s in L.walk(body) if isinstance(s, L.Store)]
    assert set(found) <= {id(s) for s in stores}
    return [*found.values()]


def test_loops_between_allocation_and_store():
    assert kept(MADE, "for i in range(n):\n    t[i] = k", LATER) == [("i",)]
    assert kept(MADE, "t[0] = k", LATER) == [()]
    nest = "for i in range(n):\n    for j in range(n):\n        if p:\n            t[j] = k"
    assert kept(MADE, nest, LATER) == [("i", "j")]


def test_the_block_of_the_allocation_counts():
    inside = "for r in range(n):\n    " + "\n    ".join(
        [MADE, "for i in range(n):", "    t[i] = k", "for i in range(n):", "    s = t[i]"]
    )
    assert kept(inside) == [("i",)]


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((MADE, "t[0] = k", "t[1] = k", LATER), id="two stores"),
        pytest.param((MADE, "t[0] = k + 1", LATER), id="an expression"),
        pytest.param((MADE, "t[0] = np.int64(w)", LATER), id="another dtype"),
        pytest.param((MADE, "t[0] += k", LATER), id="accumulated"),
        pytest.param((MADE, "t[0] = k", "t[1] += k"), id="stored and accumulated"),
        pytest.param((MADE, LATER, "t[0] = k"), id="read before"),
        pytest.param(
            (MADE, "for i in range(n):\n    s = t[i]\n    t[i] = k"), id="read in the loop"
        ),
        pytest.param((MADE, "while True:\n    t[0] = k", LATER), id="in a while"),
        pytest.param((MADE, "t[0] = k", "s = t.shape[0]"), id="an odd use"),
        pytest.param((MADE, MADE, "t[0] = k", LATER), id="allocated twice"),
        pytest.param(("t[0] = k", LATER), id="of the caller"),
        pytest.param(("if p:\n    " + MADE, "t[0] = k", LATER), id="allocated in a branch"),
        pytest.param((MADE, LATER), id="no store"),
    ],
)
def test_others(parts):
    assert kept(*parts) == []
