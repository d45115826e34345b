"""Symbolic sizes: polynomials over named integers, with equalities, bounds and guards.

A symbol is the size of an argument's axis (`x.0`), an integer value of the program (its
SSA name), or the size of an axis that is known only at run time (`h_2.0`).  Sizes of arguments
stay symbolic; those of Variables may be constants.  Two dims that are broadcast together are
*related* (equal, or one of them is 1).  Where the relation is read off the actual arguments it
is recorded as a guard.

An expression that is not a polynomial is an `Atom`: a symbol for an expression of other dims
(`max(x.0 - 2, 0)` is the length of each of `x[1:-1]`, `x[:-2]` and `x[2:]`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .record import field, record

Monomial = tuple[str, ...]


class Atom(str):
    """A symbol for a non-polynomial expression.  Its text, a Python expression, is its identity.

    `op` is the operation and `parts` are its operands: "max0" (d), "floordiv" and "remainder"
    (d, by), "len" (n, start, stop, step; None where a slice omits it) and "count" (the symbol
    of a boolean mask)."""

    op: str
    parts: tuple[Dim | None, ...]

    @staticmethod
    def make(text: str, op: str, *parts: Dim | None) -> Dim:
        atom = Atom(text)
        atom.op, atom.parts = op, parts
        return Dim.of(atom)

    def substitute(self, values: Mapping[str, Dim | int]) -> Dim:
        parts = [p if p is None else p.substitute(values) for p in self.parts]
        return Dim.of(self) if tuple(parts) == self.parts else _REBUILD[self.op](*parts)


@record(frozen=True)
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
        """The plain symbols this dim depends on, including those in the operands of its atoms."""
        return {s for s in self.occurring if not isinstance(s, Atom)}

    @property
    def occurring(self) -> set[str]:
        """All symbols this dim depends on: its atoms, and the symbols in their operands."""
        found = {s for monomial, _ in self.terms for s in monomial}
        for atom in [s for s in found if isinstance(s, Atom)]:
            for part in atom.parts:
                found |= part.occurring if part is not None else set()
        return found

    @property
    def symbol(self) -> str | None:
        """The symbol, if this dim is a single plain symbol; otherwise None."""
        if len(self.terms) == 1 and not self.const:
            (monomial, k) = self.terms[0]
            if k == 1 and len(monomial) == 1 and not isinstance(monomial[0], Atom):
                return monomial[0]
        return None

    @property
    def is_size(self) -> bool:
        """True only if the value is provably nonnegative."""
        return self.const >= 0 and all(
            k > 0 and all(symbol_is_size(s) for s in monomial) for monomial, k in self.terms
        )

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
        if not self.terms:
            return self
        symbol = self.symbol
        if symbol is not None:  # fast path: the most common case
            return Dim.of(values[symbol]) if symbol in values else self
        if not (self.occurring & values.keys()):
            return self
        out = Dim.of(self.const)
        for monomial, k in self.terms:
            term = Dim.of(k)
            for s in monomial:
                inner = s.substitute(values) if isinstance(s, Atom) else Dim.of(s)
                term = term * Dim.of(values.get(s, inner))
            out = out + term
        return out

    def __str__(self) -> str:
        parts: list[str] = []
        for monomial, k in self.terms:
            text = "*".join(monomial)
            parts.append(text if k == 1 else f"-{text}" if k == -1 else f"{k}*{text}")
        if self.const or not parts:
            parts.append(str(self.const))
        return " + ".join(parts).replace("+ -", "- ")


def _dim(terms: dict[Monomial, int], const: int) -> Dim:
    const += terms.pop((), 0)
    return Dim(tuple(sorted((m, k) for m, k in terms.items() if k)), const)


def symbol_is_size(symbol: str) -> bool:
    """True only if the symbol's value is provably nonnegative."""
    if isinstance(symbol, Atom):
        deciding = {"floordiv": symbol.parts, "remainder": symbol.parts[1:]}.get(symbol.op, ())
        return all(p is not None and p.is_size for p in deciding)
    name, _, axis = symbol.rpartition(".")
    return name.isidentifier() and axis.isdigit()


# ---------------------------------------------------------------- atoms


def max0(dim: Dim) -> Dim:
    """max(dim, 0)"""
    if dim.is_const:
        return Dim.of(max(dim.const, 0))
    if dim.const < 0 and len(dim.terms) == 1:
        (monomial, k), *_ = dim.terms
        inner = monomial[0] if len(monomial) == 1 and k == 1 else None
        if isinstance(inner, Atom) and inner.op == "max0" and inner.parts[0] is not None:
            # max(max(d, 0) - c, 0) is max(d - c, 0): a canonical length for slices of slices.
            return max0(inner.parts[0] + dim.const)
    return dim if dim.is_size else Atom.make(f"max({dim}, 0)", "max0", dim)


def floordiv(dim: Dim, by: Dim) -> Dim:
    """dim // by, a polynomial where the division is exact.  Assumes that `by` is not 0."""
    if dim.is_const and by.is_const and by.const:
        return Dim.of(dim.const // by.const)
    if by.is_const and by.const:
        monomial, k = (), by.const
    elif len(by.terms) == 1 and not by.const:
        monomial, k = by.terms[0]
    else:
        monomial, k = (), 0
    if dim == by:
        return Dim.of(1)
    quotient: dict[Monomial, int] | None = {} if k else None
    for m, c in [*dim.terms, ((), dim.const)]:
        if not c or quotient is None:
            continue
        rest = list(m)
        for s in monomial:
            if s not in rest:
                quotient = None
                break
            rest.remove(s)
        if quotient is not None:
            quotient = None if c % k else {**quotient, tuple(rest): c // k}
    if quotient is not None:
        return _dim(dict(quotient), 0)
    return Atom.make(f"({dim}) // ({by})", "floordiv", dim, by)


def remainder(dim: Dim, by: Dim) -> Dim:
    """dim % by.  Assumes that `by` is not 0."""
    if dim.is_const and by.is_const and by.const:
        return Dim.of(dim.const % by.const)
    return Atom.make(f"({dim}) % ({by})", "remainder", dim, by)


def slice_length(
    n: Dim,
    start: Dim | None = None,
    stop: Dim | None = None,
    step: Dim | None = None,
    facts: Facts | None = None,
) -> Dim:
    """The length of `x[start:stop:step]` for an axis of size n.  The result holds for every
    n >= 0; with `facts`, for every n that they admit."""
    step = Dim.of(1) if step is None else step
    if step.is_const and step.const > 0:
        start, stop = _bound_from_end(n, start), _bound_from_end(n, stop)
    if step.is_const and step.const == 0:
        return Dim.of(0)
    if all(d is None or d.is_const for d in (n, start, stop, step)):
        ints = [None if d is None else d.const for d in (start, stop, step)]
        return Dim.of(len(range(*slice(*ints).indices(n.const))))
    if step.is_const:
        forward = step.const > 0
        whole = start is None and stop is None
        dense = n if whole else _dense_length(n, start, stop) if forward else None
        if dense is None and forward and facts is not None:
            dense = _length_within(n, start, stop, facts)
        if dense is not None:
            width = abs(step.const)
            return dense if width == 1 else floordiv(dense + (width - 1), Dim.of(width))
    one = step.is_const and step.const == 1
    texts = ["" if d is None else str(d) for d in (start, stop)] + [f"{step}"] * (not one)
    return Atom.make(f"len(range({n})[{':'.join(texts)}])", "len", n, start, stop, step)


def _bound_from_end(n: Dim, bound: Dim | None) -> Dim | None:
    """Normalise a slice bound relative to the end to a negative constant: `n - 1` and `n - 2`
    are equivalent to -1 and -2, even for n < 2 (a larger distance wraps differently)."""
    if bound is not None and not bound.is_const:
        distance = n - bound
        if distance.is_const and distance.const in (1, 2):
            return -distance
    return bound


def _dense_length(n: Dim, start: Dim | None, stop: Dim | None) -> Dim | None:
    """The length of x[start:stop]; None if no closed form provably holds for every n."""
    start = Dim.of(0) if start is None else start
    stop = n if stop is None else stop
    if start.is_size and (stop - start).is_size and (n - stop).is_size:
        return stop - start
    if (stop - n).is_size:  # clipped to the end
        stop = n
        if start.is_const:
            return max0(n - start) if start.const >= 0 else n - max0(n + start)
    if not (start.is_const and stop.is_const):
        return None
    a, z = start.const, stop.const
    if a >= 0 and z >= 0:
        return max0(n - a) - max0(n - z) if z > a else Dim.of(0)
    if a >= 0:
        return max0(n + (z - a))
    if z < 0:
        return max0(n + z) - max0(n + a) if z > a else Dim.of(0)
    return None


def _length_within(n: Dim, start: Dim | None, stop: Dim | None, facts: Facts) -> Dim | None:
    """The length of x[start:stop] whose bounds depend on loop indices, if they stay within the
    axis for all iterations; otherwise None."""
    start = Dim.of(0) if start is None else start
    stop = n if stop is None else stop
    if not facts.bounds.keys() & (start.symbols | stop.symbols):
        return None
    conditions = [start, stop - start, n - stop]
    return stop - start if facts.guard_nonnegative(conditions) else None


def mask_count(mask: Dim) -> Dim:
    """The number of true elements of a boolean mask; `mask` is the symbol of its value."""
    return Atom.make(f"count_nonzero({mask})", "count", mask)


# By `Atom.op`: the function that makes the dim of its parts.
_REBUILD: dict[str, Callable[..., Dim]] = {
    "max0": max0,
    "floordiv": floordiv,
    "remainder": remainder,
    "len": slice_length,
    "count": mask_count,
}


@record(frozen=True)
class Guard:
    """A precondition of the compiled code that was read off the actual arguments.

    `left == right` ("equal"), `left == 1` ("one"), `left != right` ("differ") and
    `left >= right` ("least") relate sizes.  `left < right` ("below") and `left >= right`
    ("reaches") are the amount of work that the code was optimised for; no coefficient on their
    left side is negative."""

    kind: str
    left: Dim
    right: Dim = Dim((), 1)

    def holds(self, sizes: Mapping[str, int]) -> bool:
        left, right = self.left.substitute(sizes), self.right.substitute(sizes)
        if self.sign in ("<", ">="):
            return (left.const < right.const) == (self.sign == "<")
        return (left == right) == (self.sign == "==")

    @property
    def sign(self) -> str:
        """The Python comparison operator between the two sides."""
        return {"differ": "!=", "below": "<", "reaches": ">=", "least": ">="}.get(self.kind, "==")

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


Snapshot = tuple[list[Guard], dict[str, Dim], "dict[str, tuple[Dim, Dim]]"]


@record
class Facts:
    """Facts about dims during the compilation of one specialisation.

    `sizes` are the sizes of the actual arguments.  It is None when compiling for types alone, as
    inside `@njit`; then no relation is read off and no guard is recorded.  `ints` are the values
    of integer arguments.  Code is not specialised on them; they serve to estimate the amount of
    work and to decide whether a size is -1."""

    sizes: dict[str, int] | None = None
    guards: list[Guard] = field(default_factory=list[Guard])
    equals: dict[str, Dim] = field(default_factory=dict[str, Dim])
    ints: dict[str, int] = field(default_factory=dict[str, int])
    # By loop index: its minimum and maximum.
    bounds: dict[str, tuple[Dim, Dim]] = field(default_factory=dict[str, tuple[Dim, Dim]])

    def snapshot(self) -> Snapshot:
        return list(self.guards), dict(self.equals), dict(self.bounds)

    def restore(self, snapshot: Snapshot) -> None:
        guards, equals, bounds = snapshot
        self.guards, self.equals, self.bounds = list(guards), dict(equals), dict(bounds)

    def copy(self) -> Facts:
        """The same facts, to which others can be added."""
        ints, sizes = dict(self.ints), None if self.sizes is None else dict(self.sizes)
        return Facts(sizes, [*self.guards], dict(self.equals), ints, dict(self.bounds))

    def canonical(self, dim: Dim) -> Dim:
        return dim.substitute(self.equals)

    def known_equal(self, left: Dim, right: Dim) -> bool:
        return self.canonical(left) == self.canonical(right)

    def relate(self, left: Dim, right: Dim) -> str:
        """The broadcasting relation of two dims: "equal", "left1", "right1", "mismatch" or
        "unknown".  If the symbols do not decide, the actual sizes do, under a guard."""
        symbols = not left.is_const and not right.is_const
        left, right = self.canonical(left), self.canonical(right)
        if left == right:
            return "equal"
        inner = _differing_parts(left, right)
        if inner is not None and self._size(inner[0]) is not None:
            # For x[1:] and y[1:], guard the equality of x and y instead: it is stronger and
            # subsumes later guards.
            if self._size(inner[0]) == self._size(inner[1]):
                self._add_guard(Guard("equal", *inner))
                return "equal"
        one = Dim.of(1)
        a, b = self._size(left), self._size(right)
        if symbols and a == b == 1:
            # Both are symbols of size 1 (one may already be guarded to be 1): treat as equal.
            self._add_guard(Guard("equal", left, right))
            return "equal"
        if left == one:
            return "left1"
        if right == one:
            return "right1"
        if left.is_const and right.is_const:
            return "mismatch"
        if a is None or b is None:
            return "unknown"
        if a == b:
            self._add_guard(Guard("equal", left, right))
            return "equal"
        if a == 1:
            self._add_guard(Guard("one", left))
            return "left1"
        if b == 1:
            self._add_guard(Guard("one", right))
            return "right1"
        return "mismatch"

    def guard_equal(self, left: Dim, right: Dim) -> bool:
        """True if two sizes are provably equal, or if the actual sizes are equal; the latter
        adds a guard."""
        left, right = self.canonical(left), self.canonical(right)
        if left == right:
            return True
        size = self._size(left)
        if self.sizes is None or size is None or size != self._size(right):
            return False
        self._add_guard(Guard("equal", left, right))
        return True

    def guard_nonnegative(self, dims: list[Dim]) -> bool:
        """True if all dims are nonnegative for all values of the loop indices: provably, or for
        the actual sizes, which adds guards."""
        new: list[Guard] = []
        for dim in map(self._minimum, dims):
            if dim is None:
                return False
            if self.is_nonnegative(dim):
                continue
            size = self._size(dim)
            if size is None or size < 0:
                return False
            above = Dim(tuple(t for t in dim.terms if t[1] > 0), max(dim.const, 0))
            new.append(Guard("least", above, above - dim))
        self.guards += [g for g in new if g not in self.guards]
        return True

    def is_nonnegative(self, dim: Dim) -> bool:
        """True if the dim is provably nonnegative, from its terms or from a guard."""
        return is_sum_of_sizes(dim) or any(
            g.kind == "least" and is_sum_of_sizes(dim - self.canonical(g.left - g.right))
            for g in self.guards
        )

    def is_negative(self, dim: Dim) -> bool | None:
        """True or False if the sign of an integer is provable or follows from the actual
        arguments, which adds a guard; None if it is unknown."""
        dim = self.canonical(dim)
        least = self._minimum(dim)
        if least is not None and self.is_nonnegative(least):
            return False
        value = dim if self.sizes is None else dim.substitute(self.sizes | self.ints)
        if not value.is_const or dim.is_const:
            return value.const < 0 if value.is_const else None
        above = Dim(tuple(t for t in dim.terms if t[1] > 0), max(dim.const, 0))
        guard = Guard("below" if value.const < 0 else "least", above, above - dim)
        self.guards += [] if guard in self.guards else [guard]
        return value.const < 0

    def _minimum(self, dim: Dim) -> Dim | None:
        """The minimum over all iterations of the enclosing loops; None if the sign of the
        coefficient of one of their indices is unknown (see `slope`).  Indices are eliminated
        from the innermost loop outwards, since the bounds of inner loops may depend on the
        indices of outer ones."""
        dim = self.canonical(dim)
        for symbol in reversed(self.bounds):
            sign = slope(dim, symbol)
            if sign is None:
                return None
            if sign:
                low, high = self.bounds[symbol]
                dim = self.canonical(dim.substitute({symbol: low if sign > 0 else high}))
        return dim

    def maximum(self, dim: Dim) -> Dim | None:
        """The maximum over all iterations of the enclosing loops; None as for the minimum."""
        least = self._minimum(Dim.of(0) - dim)
        return None if least is None else Dim.of(0) - least

    def is_one(self, dim: Dim) -> bool | None:
        """True or False if the actual size is 1 or not, under a guard; None if it is unknown.
        For code whose rank depends on it."""
        dim = self.canonical(dim)
        size = self._size(dim)
        if dim.is_const or size is None:
            return None if size is None else size == 1
        if size == 1:
            self._add_guard(Guard("one", dim))
        else:
            self.guards.append(Guard("differ", dim))
        return size == 1

    def rely(self, guard: Guard) -> None:
        """Record a guard that holds for the actual sizes, unless it is provable."""
        left, right = self.canonical(guard.left), self.canonical(guard.right)
        if left == right and guard.kind in ("equal", "least"):
            return
        if left.is_const and right.is_const:
            return
        guard = Guard(guard.kind, left, right)
        if guard.kind in ("equal", "one"):
            self._add_guard(guard)
        elif guard not in self.guards:
            self.guards.append(guard)

    def guard_value(self, dim: Dim, value: int) -> None:
        """Record a guard on whether a size equals `value`, where the actual size is available."""
        dim = self.canonical(dim)
        size = self._size(dim)
        if size is None or dim.is_const:
            return
        if size == value:
            self.guard_size(dim)
        else:
            self.guards.append(Guard("differ", dim, Dim.of(value)))

    def size_of(self, dim: Dim) -> int | None:
        """The actual size; None where it is not available."""
        return self._size(self.canonical(dim))

    def guard_size(self, dim: Dim) -> None:
        """Guard that a dim equals its actual size, and use that size from here on."""
        dim = self.canonical(dim)
        size = self._size(dim)
        if size is not None and not dim.is_const:
            self._add_guard(Guard("equal", dim, Dim.of(size)))

    def _size(self, dim: Dim) -> int | None:
        if self.sizes is None:
            return dim.const if dim.is_const else None
        value = dim.substitute(self.sizes)
        return value.const if value.is_const else None

    def define(self, symbol: str, size: Dim) -> None:
        """Define a symbol that has no definition yet: `symbol` equals `size`."""
        size = self.canonical(size)
        if symbol not in self.equals and symbol not in size.occurring:
            self._replace(symbol, size)

    def _add_guard(self, guard: Guard) -> None:
        self.guards.append(guard)
        # Substitute one side for the other from here on, so that no guard is recorded twice.
        for a, b in ((guard.right, guard.left), (guard.left, guard.right)):
            if (
                len(a.terms) == 1
                and a.const == 0
                and a.terms[0][1] == 1
                and len(a.terms[0][0]) == 1
            ):
                symbol = a.terms[0][0][0]
                if symbol in b.occurring:
                    continue
                self._replace(symbol, b)
                return

    def _replace(self, symbol: str, by: Dim) -> None:
        step = {symbol: by}
        self.equals = {s: d.substitute(step) for s, d in self.equals.items()}
        self.equals[symbol] = by


def _differing_parts(left: Dim, right: Dim) -> tuple[Dim, Dim] | None:
    """For two atoms that differ in exactly one operand: these two operands, without a common
    constant term; otherwise None."""
    if not all(len(d.terms) == 1 and not d.const and d.terms[0][1] == 1 for d in (left, right)):
        return None
    a, b = left.terms[0][0], right.terms[0][0]
    if not (len(a) == len(b) == 1 and isinstance(a[0], Atom) and isinstance(b[0], Atom)):
        return None
    if a[0].op != b[0].op or a[0].op == "count":
        return None
    differing = [(p, q) for p, q in zip(a[0].parts, b[0].parts, strict=True) if p != q]
    if len(differing) != 1 or None in differing[0]:
        return None
    p, q = differing[0]
    assert p is not None and q is not None
    return (p - p.const, q - q.const) if p.const == q.const else (p, q)


def is_size(symbol: str) -> bool:
    """True only if the symbol is provably nonnegative.  A leading "?" marks a size without a
    symbol of its own: inference left it open, or the lowering introduced it."""
    return symbol_is_size(symbol) or symbol.startswith("?")


def is_sum_of_sizes(dim: Dim) -> bool:
    """True only if the dim is a sum of products of sizes, and therefore nonnegative."""
    return dim.const >= 0 and all(
        k > 0 and all(map(is_size, monomial)) for monomial, k in dim.terms
    )


def slope(dim: Dim, symbol: str) -> int | None:
    """The sign of the coefficient of `symbol` in `dim` (1, 0 or -1); None if it is unknown."""
    signs: set[int] = set()
    for monomial, k in dim.terms:
        if any(isinstance(s, Atom) and symbol in Dim.of(s).symbols for s in monomial):
            return None
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
