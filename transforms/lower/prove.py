"""Proves that integers lie in range, from symbolic values and the ranges of loop indices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..dims import Atom, Dim, Facts, symbol_is_size


class Ranges:
    """The loops around the current statement, outermost first: symbol, least, greatest."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.loops: list[tuple[str, Dim, Dim]] = []

    @contextmanager
    def inside(self, symbol: Dim | None, low: Dim | None, high: Dim | None) -> Iterator[None]:
        """Within a loop whose index has these bounds; nothing is learnt if one is unknown."""
        known = symbol is not None and low is not None and high is not None
        if known and len(symbol.terms) == 1 and symbol.const == 0:  # type: ignore[union-attr]
            (monomial, k) = symbol.terms[0]  # type: ignore[union-attr]
            known = k == 1 and len(monomial) == 1
        else:
            known = False
        if known:
            self.loops.append((monomial[0], low, high))  # type: ignore[arg-type]
        try:
            yield
        finally:
            if known:
                self.loops.pop()

    def nonnegative(self, dim: Dim | None) -> bool:
        """Certainly >= 0."""
        if dim is None:
            return False
        if self._least(dim):
            return True
        # A loop that runs at all has its greatest index not below its least.
        return any(self._least(dim - (high - low)) for _, low, high in self.loops)

    def _least(self, dim: Dim) -> bool:
        dim = self.facts.canonical(dim)
        for symbol, low, high in reversed(self.loops):
            sign = _slope(dim, symbol)
            if sign is None:
                return False
            if sign:
                dim = self.facts.canonical(dim.substitute({symbol: low if sign > 0 else high}))
        return dim.const >= 0 and all(
            k > 0 and all(map(is_size, monomial)) for monomial, k in dim.terms
        )


def is_size(symbol: str) -> bool:
    """Sizes of axes are never negative."""
    return symbol_is_size(symbol) or symbol.startswith("?")


def _slope(dim: Dim, symbol: str) -> int | None:
    """The sign of `dim`'s coefficient of `symbol`; None if it is not known."""
    signs = set()
    for monomial, k in dim.terms:
        count = monomial.count(symbol)
        if count > 1:
            return None
        if count:
            rest = [s for s in monomial if s != symbol]
            if not all(map(is_size, rest)):
                return None
            signs.add(1 if k > 0 else -1)
    if len(signs) > 1:
        return None
    return signs.pop() if signs else 0
