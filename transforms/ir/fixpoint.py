"""Bounds for iterations to a fixpoint.

A pass that repeats a step until nothing changes must end for every program.  A monotone
analysis ends by itself: its facts only grow, and there are finitely many.  A rewriting pass ends
only if each rewrite makes some measure smaller, which is easily broken by a later change.
So rewriting passes take their rounds from `rewrites`, and searches that start over count them
with `Rounds`.  Both limits are far above what programs need.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

MAX_REWRITES = 10_000
MAX_ROUNDS = 1_000


class NoFixpoint(RuntimeError):
    """An iteration without which there is no result did not end."""


def rewrites(name: str, limit: int = MAX_REWRITES) -> Iterator[int]:
    """Rounds of a rewriting pass, which breaks off when nothing is left to rewrite.

    Each rewrite preserves the meaning of the program, so the program as it stands at the limit
    is right, and only less optimised than it could be: a warning names the pass.
    """
    yield from range(limit)
    warnings.warn(
        f"the pass `{name}` was stopped after {limit} rewrites; the result is right, but may "
        "be slow. Please report the program",
        RuntimeWarning,
        stacklevel=2,
    )


class Rounds:
    """Counts the rounds of a search that starts over with what the last round found out."""

    def __init__(self, name: str, limit: int = MAX_ROUNDS) -> None:
        self.name = name
        self.limit = limit
        self.counted = 0

    def count(self) -> None:
        self.counted += 1
        if self.counted > self.limit:
            raise NoFixpoint(f"`{self.name}` found no fixpoint in {self.limit} rounds")
