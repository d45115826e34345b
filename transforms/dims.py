"""Symbolic sizes: polynomials over named integers, and what is known about them.

A symbol is the size of an argument's axis (`x.0`), an integer value of the program (its
SSA name), or the size of an axis that is known only at run time (`h_2.0`).  Sizes are
never baked in: two dims that meet are *related* (equal, or one of them is 1), and where
the relation is read off the arguments at hand it is recorded as a guard.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Monomial = tuple[str, ...]


@dataclass(frozen=True)
class Dim:
    """A polynomial with integer coefficients: terms by monomial, in sorted order."""

    terms: tuple[tuple[Monomial, int], ...] = ()
    const: int = 0

    @staticmethod
    def of(size: int | str | Dim) -> Dim:
        if isinstance(size, Dim):
            return size
        if isinstance(size, str):
            return Dim((((size,), 1),))
        return Dim((), int(size))

    @property
    def is_const(self) -> bool:
        return not self.terms

    @property
    def symbols(self) -> set[str]:
        return {s for monomial, _ in self.terms for s in monomial}

    def __add__(self, other: Dim | int) -> Dim:
        other = Dim.of(other)
        terms = dict(self.terms)
        for monomial, k in other.terms:
            terms[monomial] = terms.get(monomial, 0) + k
        return _dim(terms, self.const + other.const)

    def __mul__(self, other: Dim | int) -> Dim:
        other = Dim.of(other)
        terms: dict[Monomial, int] = {}
        left = [*self.terms, ((), self.const)]
        right = [*other.terms, ((), other.const)]
        for m1, k1 in left:
            for m2, k2 in right:
                m = tuple(sorted(m1 + m2))
                terms[m] = terms.get(m, 0) + k1 * k2
        return _dim(terms, 0)

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim | int) -> Dim:
        return self + -Dim.of(other)

    def substitute(self, values: Mapping[str, Dim | int]) -> Dim:
        if not (self.symbols & values.keys()):
            return self
        out = Dim.of(self.const)
        for monomial, k in self.terms:
            term = Dim.of(k)
            for s in monomial:
                term = term * Dim.of(values.get(s, s))
            out = out + term
        return out

    def __str__(self) -> str:
        parts = []
        for monomial, k in self.terms:
            text = "*".join(monomial)
            parts.append(text if k == 1 else f"-{text}" if k == -1 else f"{k}*{text}")
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts).replace("+ -", "- ")


def _dim(terms: dict[Monomial, int], const: int) -> Dim:
    const += terms.pop((), 0)
    return Dim(tuple(sorted((m, k) for m, k in terms.items() if k)), const)


@dataclass(frozen=True)
class Guard:
    """A fact read off the arguments that the compiled code relies on:
    `left == right` ("equal") or `left == 1` ("one")."""

    kind: str
    left: Dim
    right: Dim = Dim((), 1)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        return self.left.substitute(sizes) == self.right.substitute(sizes)

    def __str__(self) -> str:
        return f"{self.left} == {self.right}"


@dataclass
class Facts:
    """What is known about dims while compiling one specialisation.

    `sizes` holds the arguments' sizes where they are at hand (None when compiling for
    types alone, as inside `@njit`): then nothing is asked and nothing is guarded."""

    sizes: dict[str, int] | None = None
    guards: list[Guard] = field(default_factory=list)
    equals: dict[str, Dim] = field(default_factory=dict)

    def canonical(self, dim: Dim) -> Dim:
        return dim.substitute(self.equals)

    def known_equal(self, left: Dim, right: Dim) -> bool:
        return self.canonical(left) == self.canonical(right)

    def relate(self, left: Dim, right: Dim) -> str:
        """"equal", "left1", "right1", "mismatch" or "unknown", asking where possible."""
        left, right = self.canonical(left), self.canonical(right)
        if left == right:
            return "equal"
        one = Dim.of(1)
        if left == one:
            return "left1"
        if right == one:
            return "right1"
        a, b = self._size(left), self._size(right)
        if left.is_const and right.is_const:
            return "mismatch"
        if a is None or b is None:
            return "unknown"
        if a == b:
            self._guard(Guard("equal", left, right))
            return "equal"
        if a == 1:
            self._guard(Guard("one", left))
            return "left1"
        if b == 1:
            self._guard(Guard("one", right))
            return "right1"
        return "mismatch"

    def _size(self, dim: Dim) -> int | None:
        if self.sizes is None:
            return dim.const if dim.is_const else None
        value = dim.substitute(self.sizes)
        return value.const if value.is_const else None

    def _guard(self, guard: Guard) -> None:
        self.guards.append(guard)
        # From here on one side stands for the other, so that the question is asked once.
        for a, b in ((guard.right, guard.left), (guard.left, guard.right)):
            if len(a.terms) == 1 and a.const == 0 and a.terms[0][1] == 1 and len(a.terms[0][0]) == 1:
                symbol = a.terms[0][0][0]
                if symbol in b.symbols:
                    continue
                step = {symbol: b}
                self.equals = {s: d.substitute(step) for s, d in self.equals.items()}
                self.equals[symbol] = b
                return
