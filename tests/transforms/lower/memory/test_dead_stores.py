"""Stores are removed exactly where no load reads the stored value."""

from __future__ import annotations

import pytest

from s2s.transforms.lower.loop_ir import nodes as L
from s2s.transforms.lower.memory.dead_stores import eliminate_dead_stores
from tests.transforms.lower.loop_ir_text import ir

MADE = """\
t = np.empty((n,), np.float64)
for j in range(n):
    t[j] = 0.0
"""
# Each iteration reads an element and leaves zero in it.
BACK = """\
for i in range(n - 1, 0, -1):
    v = t[i]
    t[i] = 0.0
"""
UP = BACK.replace("n - 1, 0, -1", "1, n")


def in_while(source: str) -> str:
    return "while True:\n" + "".join(f"    {line}\n" for line in source.splitlines())


def stores(source: str) -> int:
    """The number of stores of zero at `i` that are left."""
    body = ir(source, t="float64[:]")
    eliminate_dead_stores(body)
    kept = (s for s in L.walk(body) if isinstance(s, L.Store))
    return sum(s.index == (L.Name("i"),) for s in kept)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(MADE + BACK, id="never read again"),
        pytest.param(MADE + BACK + "u = t[0]", id="another is read"),
        pytest.param(MADE + UP + "u = t[0]", id="upwards"),
        pytest.param(MADE + BACK + "t[1] = 0.0", id="overwritten"),
        pytest.param(in_while(MADE + BACK), id="allocated in each iteration"),
    ],
)
def test_dropped(source):
    assert stores(source) == 0


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(MADE + BACK + "u = t[1]", id="read after the loop"),
        pytest.param(MADE + BACK.replace(", 0, ", ", -1, ") + "u = t[0]", id="the first"),
        pytest.param(MADE + BACK + "u = t[n]", id="read somewhere"),
        pytest.param(
            MADE + "for i in range(n - 1, 0, -1):\n    t[i] = 0.0\n    v = t[i]",
            id="read in the iteration",
        ),
        pytest.param(MADE + BACK + "    u = t[i - 1]", id="in the next iteration"),
        pytest.param(
            MADE + "for i in range(n - 1, 0, -1):\n    u = t[i + 1]\n    t[i] = 0.0",
            id="from the iteration before",
        ),
        pytest.param(MADE + BACK + "t[1] += 0.0", id="added to"),
        pytest.param(MADE + BACK + "return (t,)", id="returned"),
        pytest.param(BACK, id="of the caller"),
        pytest.param(MADE + in_while(BACK), id="allocated before a loop around"),
        pytest.param(in_while("u = t[1]\n" + MADE + BACK), id="read before"),
        pytest.param(MADE + BACK + "u = t", id="another name"),
    ],
)
def test_kept(source):
    assert stores(source) == 1
