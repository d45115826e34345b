"""Profitability of multithreading: does a program have a loop with enough work for several threads?

The work of a loop (`cost_model.py`) is an expression of sizes.  In terms of the argument sizes it
is approximately a polynomial.  The approximation drops negative terms, takes one operand of a
select between two sizes, and takes the middle of the range for the variable of an enclosing loop.
Loops whose work is known only at run time do not count.

The decision depends only on the argument sizes of a call.  Guards restrict the compiled code to
sizes with the same decision, so which code runs never depends on earlier calls.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from ...ir.symbolic_dims import Atom, Dim, Facts, Guard, Monomial
from ..loop_ir import nodes as L
from ..loop_ir.operations import operation_of
from .cost_model import loop_cost
from .liveness import defs
from .single_assignment import single_definitions

# The least work of a loop for which threads are profitable, in additions.  Below a millisecond or
# so, moving arrays from the cache of one core to that of another costs what a second core gains.
MIN_PARALLEL_WORK = 1 << 22
# The same for a program with matrix products.  It is higher because those run on one core, or have
# threads of their own that spin for a while after a product.
MIN_PARALLEL_WORK_WITH_GEMM = 1 << 24

# A polynomial of sizes: the coefficient of each monomial.
WorkPolynomial = dict[Monomial, Fraction]


def min_parallel_work(body: list[L.Stmt]) -> int:
    """The least work of a loop in this body for which threads are profitable."""
    operations = filter(None, map(operation_of, L.walk(body)))
    threads = any(op.has_threads for op in operations)
    return MIN_PARALLEL_WORK_WITH_GEMM if threads else MIN_PARALLEL_WORK


def decide_parallel(
    amounts: Iterable[WorkPolynomial], facts: Facts, bound: int = MIN_PARALLEL_WORK
) -> tuple[bool, list[Guard]]:
    """True if the work of one of the loops reaches `bound` for the sizes of the call in `facts`.

    Also returns the guards on sizes under which the decision is the same.
    """
    if facts.sizes is None:
        return False, []
    known = facts.sizes | facts.ints
    amounts = _without_dominated(_canonical(a, facts) for a in amounts)
    conditions = [_integer_condition(a, bound) for a in amounts]
    for amount, least in conditions:
        if amount.substitute(known).const >= least.const:
            return True, [] if amount.is_const else [Guard("reaches", amount, least)]
    return False, [Guard("below", *c) for c in conditions if not c[0].is_const]


def _canonical(amount: WorkPolynomial, facts: Facts) -> WorkPolynomial:
    """A polynomial with one symbol for all sizes that are equal according to `facts`."""
    out: WorkPolynomial = {}
    for monomial, k in amount.items():
        factor = k
        same: list[str] = []
        for symbol in monomial:
            dim = facts.canonical(Dim.of(symbol))
            if dim.is_const:
                factor *= dim.const
            else:
                (symbols, times), *more = dim.terms
                plain = not (more or dim.const) and times == 1 and not isinstance(symbols[0], Atom)
                same += symbols if plain and len(symbols) == 1 else [symbol]
        out = _plus(out, {tuple(sorted(same)): factor}, 1)
    return out


def _without_dominated(amounts: Iterable[WorkPolynomial]) -> list[WorkPolynomial]:
    """The polynomials that are not dominated by another one, for sizes other than 0."""
    out: list[WorkPolynomial] = []
    for amount in amounts:
        if not any(_is_dominated(amount, other) for other in out):
            out = [other for other in out if not _is_dominated(other, amount)] + [amount]
    return out


def _is_dominated(small: WorkPolynomial, large: WorkPolynomial) -> bool:
    """True if `large` dominates `small` for all sizes of at least 1.

    Each term of `small` is charged to a term of `large` that it divides and whose remaining
    coefficient is large enough.
    """
    capacity = dict(large)
    for monomial, k in small.items():
        factors = Counter(monomial)
        fits = [m for m, most in capacity.items() if most >= k and factors <= Counter(m)]
        if not fits:
            return False
        capacity[fits[0]] -= k
    return True


def _integer_condition(amount: WorkPolynomial, bound: int) -> tuple[Dim, Dim]:
    """A polynomial and its bound, scaled to integer coefficients."""
    scale = math.lcm(*(k.denominator for k in amount.values()))
    terms = tuple(sorted((m, int(k * scale)) for m, k in amount.items() if m))
    return Dim(terms, int(amount.get((), 0) * scale)), Dim.of(bound * scale)


class WorkEstimator:
    """Converts the work of loops to polynomials of argument sizes.

    `symbols` maps the names of parameters to those that `facts` uses for sizes.
    """

    def __init__(self, body: list[L.Stmt], symbols: dict[str, str], facts: Facts) -> None:
        self.symbols = symbols
        self.known = {*(facts.sizes or {}), *facts.ints}
        stmts = list(L.walk(body))
        times = Counter(name for s in stmts for name in defs(s))
        self.lets = single_definitions(stmts)
        self.found: dict[tuple[str, ...], WorkPolynomial | None] = {}
        self.sizes = {
            s.name: s.sizes
            for s in stmts
            if isinstance(s, (L.Alloc, L.View)) and times[s.name] == 1
        }

    def of(
        self, loop: L.Loop, count: L.Expr, around: tuple[L.Loop, ...], spent: L.Expr
    ) -> WorkPolynomial | None:
        """The work of a loop enclosed by `around`, minus the cost `spent` of splitting it.

        None if it is known only at run time, or if nothing is left.
        """
        middle = {outer.var: outer for outer in around}
        whole = self._amount(loop_cost(loop, count), middle)
        cost = self._amount(spent, middle)
        if whole is None or cost is None:
            return None
        return _positive(_plus(whole, cost, -1)) or None

    def _amount(self, e: L.Expr, middle: dict[str, L.Loop]) -> WorkPolynomial | None:
        """The polynomial of an integer expression.

        The variables of the loops in `middle` count with the middle of their ranges.
        """
        if isinstance(e, L.Lit):
            return {(): Fraction(e.value)} if e.value else {}
        if isinstance(e, L.Name):
            return self._name(e.name, middle)
        if isinstance(e, L.Size):
            return self._size(e, middle)
        if isinstance(e, L.Cast):
            return self._amount(e.x, middle)
        if isinstance(e, L.Select):
            operands = [self._amount(x, middle) for x in (e.x, e.y)]
            return next((amount for amount in operands if amount), operands[0])
        if isinstance(e, L.Apply) and e.function == "rt.trip_count":
            start, stop, step = e.args
            return self._amount(L.Bin("//", L.sub(stop, start), step, "int64"), middle)
        if isinstance(e, L.Un) and e.op == "-":
            e = L.Bin("-", L.ZERO, e.x, "int64")
        if not isinstance(e, L.Bin) or e.dtype != "int64":
            return None
        left, right = self._amount(e.left, middle), self._amount(e.right, middle)
        if left is None or right is None:
            return None
        if e.op in "+-":
            return _plus(left, right, 1 if e.op == "+" else -1)
        if e.op == "*":
            return _times(left, right)
        by = right.get((), 0) if right.keys() <= {()} else 0
        return {m: k / by for m, k in left.items()} if e.op == "//" and by else None

    def _name(self, name: str, middle: dict[str, L.Loop]) -> WorkPolynomial | None:
        if name in middle:
            loop = middle[name]
            around = {n: outer for n, outer in middle.items() if n != name}
            both = L.Bin("+", loop.start, loop.stop, "int64")
            return self._amount(L.Bin("//", both, L.lit(2), "int64"), around)
        if name in self.lets:
            key = (name, *middle)
            if key not in self.found:
                self.found[key] = self._amount(self.lets[name], middle)
            return self.found[key]
        return self._symbol(self.symbols.get(name, ""))

    def _size(self, size: L.Size, middle: dict[str, L.Loop]) -> WorkPolynomial | None:
        if size.buffer in self.sizes:
            return self._amount(self.sizes[size.buffer][size.axis], middle)
        return self._symbol(f"{self.symbols.get(size.buffer, '')}.{size.axis}")

    def _symbol(self, symbol: str) -> WorkPolynomial | None:
        return {(symbol,): Fraction(1)} if symbol in self.known else None


def _plus(a: WorkPolynomial, b: WorkPolynomial, sign: int) -> WorkPolynomial:
    out = dict(a)
    for monomial, k in b.items():
        out[monomial] = out.get(monomial, Fraction(0)) + sign * k
    return {m: k for m, k in out.items() if k}


def _times(a: WorkPolynomial, b: WorkPolynomial) -> WorkPolynomial:
    """The product; without negative terms if neither factor is a constant."""
    if a.keys() - {()} and b.keys() - {()}:
        a, b = _positive(a), _positive(b)
    out: WorkPolynomial = {}
    for m, k in a.items():
        for n, j in b.items():
            both = tuple(sorted(m + n))
            out[both] = out.get(both, Fraction(0)) + k * j
    return out


def _positive(amount: WorkPolynomial) -> WorkPolynomial:
    """A polynomial without its negative terms."""
    return {m: k for m, k in amount.items() if k > 0}
