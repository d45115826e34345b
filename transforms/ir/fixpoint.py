"""Iteration limits for fixpoint computations.

A pass that repeats a step until nothing changes must terminate for every program.  A monotone
analysis terminates by itself: its facts only grow, and there are finitely many.  A rewriting pass
terminates only if each rewrite decreases some measure, which a later change easily breaks.
So rewriting passes take their iterations from `rewrites`, and searches that restart count them
with `IterationLimit`.  Both limits are far above what programs need.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

MAX_REWRITES = 10_000
MAX_RESTARTS = 1_000


class NoFixpoint(RuntimeError):
    """A fixpoint computation that has no usable partial result exceeded its limit."""


def rewrites(name: str, limit: int = MAX_REWRITES) -> Iterator[int]:
    """The iterations of a rewriting pass; the pass breaks out when nothing is left to rewrite.

    Each rewrite preserves the semantics, so the program at the limit is correct, only less
    optimised than it could be.  A warning names the pass.
    """
    yield from range(limit)
    warnings.warn(
        f"the pass `{name}` was stopped after {limit} rewrites; the result is right, but may "
        "be slow. Please report the program",
        RuntimeWarning,
        stacklevel=2,
    )


class IterationLimit:
    """Counts the iterations of a search that restarts with the facts of the last attempt, and
    raises `NoFixpoint` above `limit`."""

    def __init__(self, name: str, limit: int = MAX_RESTARTS) -> None:
        self.name = name
        self.limit = limit
        self.counted = 0

    def count(self) -> None:
        self.counted += 1
        if self.counted > self.limit:
            raise NoFixpoint(f"`{self.name}` found no fixpoint in {self.limit} iterations")
