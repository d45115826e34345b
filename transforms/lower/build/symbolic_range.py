"""Value range analysis: proves integer bounds from symbolic values and the ranges of loop indices.

Symbolic values (`Dim`) are integers of unbounded size.  The program computes in 64 bits.  A proof
about the symbolic value holds for the computed one only if the computation does not overflow.
`Ranges.is_far_from_overflow` and `Ranges.exact_if_nonnegative` establish that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...ir.symbolic_dims import Atom, Dim, Facts, is_size, slope

# Limits under which a polynomial of sizes and loop counters does not overflow 64 bits: the largest
# coefficient, the largest constant term, and the degree.  The counters must themselves start at
# values within these limits.
MAX_COEFFICIENT = 1 << 20
MAX_CONSTANT = 1 << 40
MAX_DEGREE = 3


class Ranges:
    """Ranges of the loop indices around the current statement.

    `loops` lists (symbol, minimum, maximum) of each enclosing loop, outermost first.
    `moderate_counters` are the counters that start at a moderate value (see
    `is_far_from_overflow`).  `definitions` maps symbols of the program's integers to symbolic
    values found for them.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.loops: list[tuple[str, Dim, Dim]] = []
        self.moderate_counters: set[str] = set()
        self.definitions: dict[str, Dim] = {}

    def define_symbol(self, symbol: Dim | None, value: Dim) -> None:
        """Record that the integer with this symbol has the symbolic value `value`."""
        name = _symbol(symbol)
        if name is not None and name not in value.symbols:
            self.definitions[name] = value

    @contextmanager
    def inside(
        self, symbol: Dim | None, low: Dim | None, high: Dim | None, first: Dim | None
    ) -> Iterator[None]:
        """Context of a loop body whose index starts at `first` and lies in [`low`, `high`].

        The context adds no range if a bound is unknown.
        """
        name = _symbol(symbol)
        if name is None or low is None or high is None:
            yield
            return
        if self.is_far_from_overflow(first):
            self.moderate_counters.add(name)
        self.loops.append((name, low, high))
        try:
            yield
        finally:
            self.loops.pop()
            self.moderate_counters.discard(name)

    def is_far_from_overflow(self, dim: Dim | None) -> bool:
        """True if a value is far from the limits of int64, so that computing it cannot overflow.

        A proof of one bound of the symbolic value (that it is not negative, or not above some
        value) then holds for the computed 64-bit integer, too.  A proof of both bounds needs no
        such condition.  A counter that starts at a moderate value does not reach the limits of
        int64 in any practical time.
        """
        if dim is None or abs(dim.const) > MAX_CONSTANT:
            return False
        return all(
            abs(k) <= MAX_COEFFICIENT
            and len(monomial) <= MAX_DEGREE
            and all(self._moderate_symbol(s) for s in monomial)
            for monomial, k in dim.terms
        )

    def exact_if_nonnegative(self, dim: Dim | None) -> bool:
        """True if computing a value in 64 bits cannot overflow, provided that it is not negative.

        This holds for a moderate value, and for a value with a proven upper bound that is an
        integer of the program, such as `n - i` where i >= 0.
        """
        if dim is None or self.is_far_from_overflow(dim):
            return dim is not None
        alone = (m[0] for m, k in dim.terms if k == 1 and len(m) == 1)
        return any(self.nonnegative(Dim.of(s) - dim) for s in alone if not isinstance(s, Atom))

    def _moderate_symbol(self, symbol: str) -> bool:
        if isinstance(symbol, Atom):
            # A slice is no longer than its axis.  A mask selects at most all elements.
            parts = symbol.parts[:1] if symbol.op == "len" else symbol.parts
            return symbol.op == "count" or all(
                p is None or self.is_far_from_overflow(p) for p in parts
            )
        if symbol in self.definitions:
            return self.is_far_from_overflow(self.definitions[symbol])
        return is_size(symbol) or symbol in self.moderate_counters

    def nonnegative(self, dim: Dim | None) -> bool:
        """True if `dim` is proven to be >= 0."""
        if dim is None:
            return False
        dim = self.facts.canonical(dim.substitute(self.definitions))
        # In a loop body the maximum of the index is at least its minimum, so `high - low` is not
        # negative.  It suffices that `dim` minus one such span is proven not negative.
        spans = [Dim.of(0), *(high - low for _, low, high in self.loops)]
        return any(
            self._minimum_is_nonnegative(bound - span)
            for bound in (dim, lower_bound(dim))
            for span in spans
        )

    def _minimum_is_nonnegative(self, dim: Dim) -> bool:
        """True if the minimum of `dim` over all iterations of the enclosing loops is >= 0.

        Each loop index is replaced by the end of its range at which `dim` is smallest.
        """
        dim = self.facts.canonical(dim)
        for symbol, low, high in reversed(self.loops):
            sign = slope(dim, symbol)
            if sign is None:
                return False
            if sign:
                dim = self.facts.canonical(dim.substitute({symbol: low if sign > 0 else high}))
        return self.facts.is_nonnegative(dim)


class RefinedFacts(Facts):
    """Facts at the current statement, refined by the proofs of `ranges`.

    The length of a slice that is proven to lie inside its axis is stop - start.  `max(d, 0)` is d
    where d is proven not to be negative.
    """

    def __init__(self, facts: Facts, ranges: Ranges) -> None:
        super().__init__(facts.sizes, facts.guards, facts.equals)
        self.ranges = ranges

    def canonical(self, dim: Dim) -> Dim:
        dim = super().canonical(dim)
        atoms = [s for monomial, _ in dim.terms for s in monomial if isinstance(s, Atom)]
        known: dict[str, Dim | int] = {a: d for a in atoms if (d := self._resolved(a)) is not None}
        return super().canonical(dim.substitute(known)) if known else dim

    def _resolved(self, atom: Atom) -> Dim | None:
        """The simplified value of an atom at the current statement, or None."""
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


def lower_bound(dim: Dim) -> Dim:
    """A lower bound of `dim`: max(d, 0) with a positive coefficient is replaced by d."""
    out = Dim.of(dim.const)
    for monomial, k in dim.terms:
        s = monomial[0]
        clipped = len(monomial) == 1 and k > 0 and isinstance(s, Atom) and s.op == "max0"
        least = s.parts[0] if clipped else None  # type: ignore[union-attr]
        out = out + (Dim(((monomial, 1),)) if least is None else least) * k
    return out


def _symbol(dim: Dim | None) -> str | None:
    """The symbol of a dim that consists of a single symbol, else None."""
    if dim is None or len(dim.terms) != 1 or dim.const:
        return None
    (monomial, k) = dim.terms[0]
    return monomial[0] if k == 1 and len(monomial) == 1 else None
