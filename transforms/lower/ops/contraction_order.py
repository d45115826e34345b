"""Contraction order: in which order the operands of an einsum are multiplied pairwise.

    i, kl, lj -> ijk        kl, lj -> jk;  jk, i -> ijk: three nested loops each, instead of four

Sizes are rarely constant, so the cost is the depth of the loop nests.  Orders are compared by the
deepest nest first.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

# Maximum number of operands for an exhaustive search; beyond it the choice is greedy.
MAX_EXHAUSTIVE_OPERANDS = 5

# The nest depth of each pairwise product, deepest first, and the total rank of the intermediates.
_Cost = tuple[list[int], int]


def first_pair(letters: tuple[str, ...], out: str) -> tuple[int, int]:
    """The positions of the two operands to multiply first."""
    return _best(letters, out)[1]


def product_subscripts(letters: Sequence[str], i: int, j: int, out: str) -> str:
    """The subscripts of the product of operands i and j.

    They are those that occur in another operand or in the result.  Their order is that of an
    operand (or the result) that has them all, so that both have the same memory layout.
    """
    others = [*(s for p, s in enumerate(letters) if p not in (i, j)), out]
    rest = set("".join(others))
    names = "".join(dict.fromkeys(c for c in letters[i] + letters[j] if c in rest))
    for other in others:
        if set(names) <= set(other):
            return "".join(c for c in dict.fromkeys(other) if c in names)
    return names


@functools.cache
def _best(letters: tuple[str, ...], out: str) -> tuple[_Cost, tuple[int, int]]:
    """The cost of the cheapest order, and the pair that it multiplies first."""
    if len(letters) <= 1:
        return ([], 0), (0, 0)
    pairs = list(itertools.combinations(range(len(letters)), 2))
    if len(letters) > MAX_EXHAUSTIVE_OPERANDS:
        pairs = [min(pairs, key=lambda pair: _nest_depth(letters, *pair))]
    found = []
    for i, j in pairs:
        made = product_subscripts(letters, i, j, out)
        left = (made, *(s for p, s in enumerate(letters) if p not in (i, j)))
        (loops, axes), _ = _best(left, out)
        loops = sorted([*loops, _nest_depth(letters, i, j)], reverse=True)
        found.append(((loops, axes + len(made)), (i, j)))
    return min(found)


def _nest_depth(letters: Sequence[str], i: int, j: int) -> int:
    """The depth of the loop nest of one pairwise product."""
    return len({*letters[i], *letters[j]})
