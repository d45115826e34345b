"""Whether a program has a loop with enough to do for several threads, told from sizes of a call.

What a loop does (`cost_model.py`) is an expression of sizes.  Taken back to the sizes of the
arguments it is, roughly, a polynomial of them: what is subtracted is left out, of a choice between
two sizes one is taken, and a loop around it counts with the middle of its range.  Loops whose sizes
only running tells do not count.

The answer depends on the sizes of a call and on nothing else, and code is valid for sizes with the
same answer: which code runs never depends on the calls before.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from ...ir.symbolic_dims import Atom, Dim, Facts, Guard, Monomial
from ..loop_ir import nodes as L
from .cost_model import work
from .liveness import defs
from .single_assignment import single_definitions

# What one loop must have to do, in additions: below a millisecond or so, arrays that go from the
# cache of one core to that of another cost what a second core gains.
WORTH = 1 << 22
# Beside products of matrices it is more: those run on one core, or have threads of their own, which
# go on looking for work for a while.
BESIDE_PRODUCTS = 1 << 24

Amount = dict[Monomial, Fraction]


def bound_in(body: list[L.Stmt]) -> int:
    products = any(isinstance(s, L.Call) and s.function in L.PRODUCTS for s in L.walk(body))
    return BESIDE_PRODUCTS if products else WORTH


def judged(amounts: Iterable[Amount], facts: Facts, bound: int = WORTH) -> tuple[bool, list[Guard]]:
    """Whether one of the loops reaches a bound for the sizes at hand, and for which it is so."""
    if facts.sizes is None:
        return False, []
    known = facts.sizes | facts.ints
    amounts = _largest(_canonical(a, facts) for a in amounts)
    conditions = [_condition(a, bound) for a in amounts]
    for amount, least in conditions:
        if amount.substitute(known).const >= least.const:
            return True, [] if amount.is_const else [Guard("reaches", amount, least)]
    return False, [Guard("below", *c) for c in conditions if not c[0].is_const]


def _canonical(amount: Amount, facts: Facts) -> Amount:
    """With one name for sizes that are known to be equal."""
    out: Amount = {}
    for monomial, k in amount.items():
        factor, same = k, []
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


def _largest(amounts: Iterable[Amount]) -> list[Amount]:
    """Those that are not less than another, for sizes other than 0."""
    out: list[Amount] = []
    for amount in amounts:
        if not any(_within(amount, other) for other in out):
            out = [other for other in out if not _within(other, amount)] + [amount]
    return out


def _within(small: Amount, large: Amount) -> bool:
    room = dict(large)
    for monomial, k in small.items():
        factors = Counter(monomial)
        fits = [m for m, most in room.items() if most >= k and factors <= Counter(m)]
        if not fits:
            return False
        room[fits[0]] -= k
    return True


def _condition(amount: Amount, bound: int) -> tuple[Dim, Dim]:
    """An amount and the bound for it, as whole numbers."""
    scale = math.lcm(*(k.denominator for k in amount.values()))
    terms = tuple(sorted((m, int(k * scale)) for m, k in amount.items() if m))
    return Dim(terms, int(amount.get((), 0) * scale)), Dim.of(bound * scale)


class Amounts:
    """`symbols` are the names of parameters in terms of which sizes are known."""

    def __init__(self, body: list[L.Stmt], symbols: dict[str, str], facts: Facts) -> None:
        self.symbols = symbols
        self.known = {*(facts.sizes or {}), *facts.ints}
        stmts = list(L.walk(body))
        times = Counter(name for s in stmts for name in defs(s))
        self.lets = single_definitions(stmts)
        self.found: dict[tuple[str, ...], Amount | None] = {}
        self.sizes = {
            s.name: s.sizes
            for s in stmts
            if isinstance(s, (L.Alloc, L.View)) and times[s.name] == 1
        }

    def of(
        self, loop: L.Loop, count: L.Expr, around: tuple[L.Loop, ...], spent: L.Expr
    ) -> Amount | None:
        """What a loop inside others does, less what sharing it out costs; None if only running
        tells, or if it is nothing."""
        middle = {outer.var: outer for outer in around}
        whole = self._amount(work(loop, count), middle)
        cost = self._amount(spent, middle)
        if whole is None or cost is None:
            return None
        return _positive(_plus(whole, cost, -1)) or None

    def _amount(self, e: L.Expr, middle: dict[str, L.Loop]) -> Amount | None:
        if isinstance(e, L.Lit):
            return {(): Fraction(e.value)} if e.value else {}
        if isinstance(e, L.Name):
            return self._name(e.name, middle)
        if isinstance(e, L.Size):
            return self._size(e, middle)
        if isinstance(e, L.Cast):
            return self._amount(e.x, middle)
        if isinstance(e, L.Select):
            ways = [self._amount(x, middle) for x in (e.x, e.y)]
            return next((way for way in ways if way), ways[0])
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

    def _name(self, name: str, middle: dict[str, L.Loop]) -> Amount | None:
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

    def _size(self, size: L.Size, middle: dict[str, L.Loop]) -> Amount | None:
        if size.buffer in self.sizes:
            return self._amount(self.sizes[size.buffer][size.axis], middle)
        return self._symbol(f"{self.symbols.get(size.buffer, '')}.{size.axis}")

    def _symbol(self, symbol: str) -> Amount | None:
        return {(symbol,): Fraction(1)} if symbol in self.known else None


def _plus(a: Amount, b: Amount, sign: int) -> Amount:
    out = dict(a)
    for monomial, k in b.items():
        out[monomial] = out.get(monomial, Fraction(0)) + sign * k
    return {m: k for m, k in out.items() if k}


def _times(a: Amount, b: Amount) -> Amount:
    if a.keys() - {()} and b.keys() - {()}:
        a, b = _positive(a), _positive(b)
    out: Amount = {}
    for m, k in a.items():
        for n, j in b.items():
            both = tuple(sorted(m + n))
            out[both] = out.get(both, Fraction(0)) + k * j
    return out


def _positive(amount: Amount) -> Amount:
    return {m: k for m, k in amount.items() if k > 0}
