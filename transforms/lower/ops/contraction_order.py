"""In which order the operands of an einsum are multiplied, two at a time.

    i, kl, lj -> ijk        kl, lj -> jk;  jk, i -> ijk: three nested loops each, instead of four

Sizes are hardly ever known, so what counts is how many loops are nested: first of the product that
takes most.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

# Of up to so many operands, every order is looked at.
MANY = 5

# The number of nested loops of each product, most first, and that of axes of what is in between.
_Cost = tuple[list[int], int]


def first(letters: tuple[str, ...], out: str) -> tuple[int, int]:
    """The two operands to begin with."""
    return _best(letters, out)[1]


def kept(letters: Sequence[str], i: int, j: int, out: str) -> str:
    """The letters of the product of two operands: those that others have, or the result, and in the
    order of one that has them all, so that both lie alike in memory."""
    others = [*(s for p, s in enumerate(letters) if p not in (i, j)), out]
    rest = set("".join(others))
    names = "".join(dict.fromkeys(c for c in letters[i] + letters[j] if c in rest))
    for other in others:
        if set(names) <= set(other):
            return "".join(c for c in dict.fromkeys(other) if c in names)
    return names


@functools.cache
def _best(letters: tuple[str, ...], out: str) -> tuple[_Cost, tuple[int, int]]:
    if len(letters) <= 1:
        return ([], 0), (0, 0)
    pairs = list(itertools.combinations(range(len(letters)), 2))
    if len(letters) > MANY:
        pairs = [min(pairs, key=lambda pair: _loops(letters, *pair))]
    found = []
    for i, j in pairs:
        made = kept(letters, i, j, out)
        left = (made, *(s for p, s in enumerate(letters) if p not in (i, j)))
        (loops, axes), _ = _best(left, out)
        loops = sorted([*loops, _loops(letters, i, j)], reverse=True)
        found.append(((loops, axes + len(made)), (i, j)))
    return min(found)


def _loops(letters: Sequence[str], i: int, j: int) -> int:
    return len({*letters[i], *letters[j]})
