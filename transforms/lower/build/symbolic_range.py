"""Proves that integers lie in range, from symbolic values and the ranges of loop indices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir.symbolic_dims import Atom, Dim, Facts, is_size, slope

# Symbolic values are numbers of any length, those of a program have 64 bits.  Sums with
# coefficients and constants up to these, of sizes and of counters that start at such sums, fit.
COEFFICIENT = 1 << 20
CONSTANT = 1 << 40
DEGREE = 3


class Ranges:
    """The loops around the current statement, outermost first: symbol, least, greatest.  `reach`
    are the counters that start at a moderate number."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.loops: list[tuple[str, Dim, Dim]] = []
        self.reach: set[str] = set()
        self.learnt: dict[str, Dim] = {}

    def learn(self, symbol: Dim | None, value: Dim) -> None:
        """What an integer of the program has been found to be."""
        name = _symbol(symbol)
        if name is not None and name not in value.symbols:
            self.learnt[name] = value

    @contextmanager
    def inside(
        self, symbol: Dim | None, low: Dim | None, high: Dim | None, first: Dim | None
    ) -> Iterator[None]:
        """Within a loop whose index starts at `first` and has these bounds; nothing is learnt if
        one is unknown."""
        name = _symbol(symbol)
        if name is None or low is None or high is None:
            yield
            return
        if self.moderate(first):
            self.reach.add(name)
        self.loops.append((name, low, high))
        try:
            yield
        finally:
            self.loops.pop()
            self.reach.discard(name)

    def moderate(self, dim: Dim | None) -> bool:
        """Whether a value is far from what 64 bits hold, so that the program computes it without
        overflow: a proof that it is not negative, or not above something, holds for the machine's
        number, too.  (A proof of both bounds needs no more.)  A counter that starts at a moderate
        number does not reach the end of the range in any practical time."""
        if dim is None or abs(dim.const) > CONSTANT:
            return False
        return all(
            abs(k) <= COEFFICIENT
            and len(monomial) <= DEGREE
            and all(self._moderate_symbol(s) for s in monomial)
            for monomial, k in dim.terms
        )

    def exact_if_natural(self, dim: Dim | None) -> bool:
        """Whether the machine computes a value without overflow if it is not negative: a moderate
        one, and one that is not above some integer of the program, as `n - i` where i >= 0."""
        if dim is None or self.moderate(dim):
            return dim is not None
        alone = (m[0] for m, k in dim.terms if k == 1 and len(m) == 1)
        return any(self.nonnegative(Dim.of(s) - dim) for s in alone if not isinstance(s, Atom))

    def _moderate_symbol(self, symbol: str) -> bool:
        if isinstance(symbol, Atom):
            # A slice is no longer than its axis, a mask selects no more than there is.
            parts = symbol.parts[:1] if symbol.op == "len" else symbol.parts
            return symbol.op == "count" or all(p is None or self.moderate(p) for p in parts)
        if symbol in self.learnt:
            return self.moderate(self.learnt[symbol])
        return is_size(symbol) or symbol in self.reach

    def nonnegative(self, dim: Dim | None) -> bool:
        """Certainly >= 0."""
        if dim is None:
            return False
        dim = self.facts.canonical(dim.substitute(self.learnt))
        # A loop that runs at all has its greatest index not below its least.
        spans = [Dim.of(0), *(high - low for _, low, high in self.loops)]
        return any(self._least(bound - span) for bound in (dim, relaxed(dim)) for span in spans)

    def _least(self, dim: Dim) -> bool:
        """Whether the least value over all loops is >= 0."""
        dim = self.facts.canonical(dim)
        for symbol, low, high in reversed(self.loops):
            sign = slope(dim, symbol)
            if sign is None:
                return False
            if sign:
                dim = self.facts.canonical(dim.substitute({symbol: low if sign > 0 else high}))
        return self.facts.not_negative(dim)


class Proven(Facts):
    """Facts at the current statement: slices that are proven to lie inside an axis are as long as
    their bounds are apart, and what is proven not to be negative is not clipped."""

    def __init__(self, facts: Facts, ranges: Ranges) -> None:
        super().__init__(facts.sizes, facts.guards, facts.equals)
        self.ranges = ranges

    def canonical(self, dim: Dim) -> Dim:
        dim = super().canonical(dim)
        atoms = [s for monomial, _ in dim.terms for s in monomial if isinstance(s, Atom)]
        known: dict[str, Dim | int] = {a: d for a in atoms if (d := self._known(a)) is not None}
        return super().canonical(dim.substitute(known)) if known else dim

    def _known(self, atom: Atom) -> Dim | None:
        """What an atom comes to here."""
        if atom.op == "max0":
            return atom.parts[0] if self.ranges.nonnegative(atom.parts[0]) else None
        if atom.op != "len":
            return None
        n, start, stop, step = atom.parts
        assert n is not None
        a, b = start or Dim.of(0), n if stop is None else stop
        one = step is None or step == Dim.of(1)
        inside = one and all(map(self.ranges.nonnegative, (a, b - a, n - b)))
        return b - a if inside else None


def relaxed(dim: Dim) -> Dim:
    """A lower bound: max(d, 0) is at least d."""
    out = Dim.of(dim.const)
    for monomial, k in dim.terms:
        s = monomial[0]
        clipped = len(monomial) == 1 and k > 0 and isinstance(s, Atom) and s.op == "max0"
        least = s.parts[0] if clipped else None  # type: ignore[union-attr]
        out = out + (Dim(((monomial, 1),)) if least is None else least) * k
    return out


def _symbol(dim: Dim | None) -> str | None:
    """The symbol that a dim is, if it is one."""
    if dim is None or len(dim.terms) != 1 or dim.const:
        return None
    (monomial, k) = dim.terms[0]
    return monomial[0] if k == 1 and len(monomial) == 1 else None
