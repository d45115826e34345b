"""Sweeps that a choice shortens: the adjoint of a running smallest or largest, on loop-level IR.

    for c in range(n - 1, -1, -1):              first = -1
        t = g * (a[c] > b[c])                   for k in range(n):
        x[c] += t * y[c]                            first = first if a[k] < b[k] else k
        g = g * (a[c] < b[c])           →       if not (calm and -1e50 <= g <= 1e50):
                                                    first = n - 1
                                                for c in range(first, -1, -1):
                                                    …
                                                    if g == 0.0 and calm:
                                                        break

Rounds that pass `g` on as it is add nothing, and neither does what follows once a round has taken
all of it.  Which round is the first that does something is found out several rounds at a time.  As
in `skip_zero_updates.py`, this holds where nothing is infinite or no number.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

from ...ir.record import field, record
from ..analysis.alias import MayAlias
from ..analysis.liveness import Names, after_loops, defs, exposed, names_in
from ..analysis.zero_product import LIMITS, Numbers
from ..loop_ir import nodes as L

# What is looked at in each round is to cost less than the round.
SHORT = 16
# In fewer rounds than this there is nothing to find.
FEW = 4
_PLAIN = (L.Let, L.Store, L.Loop, L.If, L.Comment)
# What is known of other comparisons of two numbers if one of them holds.
_FOLLOWS = {
    "<": {"<": True, "<=": True, "!=": True, ">": False, ">=": False, "==": False},
    ">": {">": True, ">=": True, "!=": True, "<": False, "<=": False, "==": False},
}
TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


@record
class Shortened:
    """`number` is what a loop passes on from round to round, as it is where `passes` holds."""

    loop: L.Loop
    number: L.Name
    passes: L.Expr
    factor: L.Expr  # what the number is multiplied by
    arrays: set[str]
    # If only this has been kept (`save_argminmax.py`): twice the first round that does something,
    # and one more unless it is the only one.
    chosen: L.Expr | None = None
    # What computes again all that is compared, and otherwise stands for it in that round.
    again: list[L.Stmt] = field(default_factory=list)
    stands_for: dict[str, L.Expr] = field(default_factory=dict)


def shortened_sweeps(body: list[L.Stmt], numbers: Numbers, may_alias: MayAlias) -> list[Shortened]:
    """The loops that may be shortened, if the elements of their arrays are not large."""
    after: dict[int, Names] | None = None
    found: list[Shortened] = []
    for loop, depth in _loops(body, 0):
        for let in loop.body:
            if isinstance(let, L.Let) and _passed_on(let, numbers) is not None:
                after = after or after_loops(body)
                sweep = _sweep(loop, let, depth, numbers, may_alias, after[id(loop)])
                if sweep is not None:
                    found.append(sweep)
                    break
    return found


def _loops(block: list[L.Stmt], depth: int) -> Iterator[tuple[L.Loop, int]]:
    """Loops, inside how many they and those in them are."""
    for stmt in block:
        if isinstance(stmt, L.Loop):
            yield stmt, depth + _depth(stmt)
        for inner in L.blocks_of(stmt):
            yield from _loops(inner, depth + isinstance(stmt, (L.Loop, L.While)))


def _depth(stmt: L.Stmt) -> int:
    own = isinstance(stmt, (L.Loop, L.While))
    return own + max((_depth(s) for block in L.blocks_of(stmt) for s in block), default=0)


def _passed_on(let: L.Let, numbers: Numbers) -> L.Expr | None:
    """What a number is multiplied by, if it becomes a multiple of itself; to choose between it and
    zero is to multiply by a truth value."""
    e, number = let.expr, L.Name(let.name, let.expr.dtype)
    if isinstance(e, L.Name) and e != number:
        e = numbers.known.get(e.name, e)
    if isinstance(e, L.Select) and e.dtype in LIMITS and let.name not in names_in([e.cond]):
        if e.x == number and L.is_lit(e.y, 0):
            return L.Cast(e.cond, e.dtype)
        if e.y == number and L.is_lit(e.x, 0):
            return L.Cast(L.Un("not", e.cond, "bool"), e.dtype)
    if isinstance(e, L.Bin) and e.op == "*" and e.dtype in LIMITS:
        for x, y in ((e.left, e.right), (e.right, e.left)):
            if x == number and let.name not in names_in([y]):
                return y
    return None


def _sweep(
    loop: L.Loop,
    let: L.Let,
    depth: int,
    numbers: Numbers,
    may_alias: MayAlias,
    later: frozenset[str],
) -> Shortened | None:
    factor = _passed_on(let, numbers)
    inside = list(L.walk(loop.body))
    if factor is None or not _is_long(loop) or not all(isinstance(s, _PLAIN) for s in inside):
        return None
    bound = [name for s in inside for name in defs(s)]
    own = {*bound, loop.var}
    # Nothing but the number outlives a round.
    if bound.count(let.name) > 1 or (own & (later | exposed(loop.body))) - {loop.var, let.name}:
        return None
    if loop.var in bound or loop.var in later or not numbers.is_truth(factor):
        return None
    puts = [s for s in inside if isinstance(s, L.Store)]
    if not puts or not all(p.add for p in puts):
        return None
    number = L.Name(let.name, let.expr.dtype)
    for passes in _comparisons(factor, numbers):
        outside = _outside(passes, loop, own, numbers)
        if outside is None or any(
            may_alias(p.buffer, e.buffer)
            for p in puts
            for e in L.walk_expr(outside)
            if isinstance(e, L.Load)
        ):
            continue
        given = Given(passes, numbers.known)
        if given.value(factor) != 1.0:
            continue
        added = [p.expr for p in puts]
        taken = numbers.vanish(added, number)
        unchanged = numbers.vanish(added, given.is_zero, frozenset((let.name,)))
        if taken is not None and unchanged is not None:
            arrays = taken | unchanged
            # Looking at an array is to cost no more than the search does.
            fits = all(numbers.ranks[a] <= depth for a in arrays)
            spelt = _spelt(factor, own, numbers)
            return Shortened(loop, number, outside, spelt, arrays) if fits else None
    return None


def _is_long(loop: L.Loop) -> bool:
    """Whether a loop that counts by one may make more than a few rounds."""
    span = L.span(loop)
    if span is None:
        return False
    rounds = L.sub(span[1], span[0])
    return not isinstance(rounds, L.Lit) or rounds.value > FEW


def _comparisons(e: L.Expr, numbers: Numbers) -> Iterator[L.Expr]:
    """The comparisons that a number depends on, and truth values that were kept."""
    for part in L.walk_expr(e):
        if isinstance(part, L.Bin) and part.op in _FOLLOWS:
            yield part
        elif isinstance(part, L.Name) and part.name in numbers.known:
            yield from _comparisons(numbers.known[part.name], numbers)
        elif isinstance(part, L.Load) and part.dtype == "bool":
            yield from (part, L.Un("not", part, "bool"))


def _outside(e: L.Expr, loop: L.Loop, own: set[str], numbers: Numbers) -> L.Expr | None:
    """A condition as it can be asked outside of a loop, for a round of it."""
    out = _spelt(e, own, numbers)
    parts = L.walk_expr(out)
    cheap = len(parts) <= SHORT and not any(isinstance(p, L.Apply) for p in parts)
    return out if cheap and not (names_in([out]) & own) - {loop.var} else None


def _spelt(e: L.Expr, own: set[str], numbers: Numbers) -> L.Expr:
    """In terms of what is known outside of a loop that sets its `own` numbers."""

    def spelt(part: L.Expr) -> L.Expr | None:
        if isinstance(part, L.Name) and part.name in own and part.name in numbers.known:
            return L.map_expr(numbers.known[part.name], spelt)
        return None

    return L.map_expr(e, spelt)


class Given:
    """What numbers are if a condition holds."""

    def __init__(self, passes: L.Expr, known: dict[str, L.Expr]) -> None:
        self.passes, self.known = passes, known

    def is_zero(self, e: L.Expr) -> bool:
        return self.value(e) == 0.0

    def value(self, e: L.Expr) -> float | None:
        if e == self.passes:
            return 1.0
        if isinstance(e, L.Un) and e.op == "not":
            value = self.value(e.x)
            return None if value is None else 1.0 - value
        if self.passes == L.Un("not", e, "bool"):
            return 0.0
        if isinstance(e, L.Select):
            value = self.value(e.cond)
            return None if value is None else self.value(e.x if value else e.y)
        if isinstance(e, L.Lit):
            return float(e.value) if isinstance(e.value, (bool, int, float)) else None
        if isinstance(e, L.Name):
            known = self.known.get(e.name)
            return None if known is None else self.value(known)
        if isinstance(e, L.Cast):
            return self.value(e.x) if e.x.dtype == "bool" else None
        if isinstance(e, L.Bin) and e.op in TURNED:
            return self._compared(e)
        if isinstance(e, L.Bin) and e.op in ("+", "*"):
            left, right = self.value(e.left), self.value(e.right)
            if left is None or right is None:
                return None
            return left + right if e.op == "+" else left * right
        return None

    def _compared(self, e: L.Bin) -> float | None:
        if not isinstance(self.passes, L.Bin):
            return None
        pair, follows = (self.passes.left, self.passes.right), _FOLLOWS[self.passes.op]
        if (e.left, e.right) == pair:
            return float(follows[e.op])
        if (e.right, e.left) == pair:
            return float(follows[TURNED[e.op]])
        return None


def shorten_minmax_sweeps(
    block: list[L.Stmt], sweeps: list[Shortened], calm: L.Expr, new_name: Callable[[str], str]
) -> None:
    """Rewrites a block in place."""
    chosen = {id(s.loop): s for s in sweeps}
    if chosen:
        _shorten(block, chosen, calm, new_name)


def _shorten(
    block: list[L.Stmt],
    sweeps: dict[int, Shortened],
    calm: L.Expr,
    new_name: Callable[[str], str],
) -> None:
    out: list[L.Stmt] = []
    for stmt in block:
        for inner in L.blocks_of(stmt):
            _shorten(inner, sweeps, calm, new_name)
        out += _short(sweeps[id(stmt)], calm, new_name) if id(stmt) in sweeps else [stmt]
    block[:] = out


def _short(sweep: Shortened, calm: L.Expr, new_name: Callable[[str], str]) -> list[L.Stmt]:
    """A loop that begins where something is done, and ends when nothing is left to do."""
    loop, number = sweep.loop, sweep.number
    dtype, limit = number.dtype, LIMITS[number.dtype]
    first = L.Name(new_name("first"))
    tame = L.both(
        L.compare("<=", number, L.Lit(limit, dtype)), L.compare(">=", number, L.Lit(-limit, dtype))
    )
    wild = L.Un("not", L.both(calm, tame), "bool")
    gone = L.If(L.both(L.compare("==", number, L.Lit(0.0, dtype)), calm), [L.Break()])
    loop.exits_early = True
    if sweep.chosen is None:
        every = L.If(wild, [L.Let(first.name, loop.start)])
        before = [*_search(sweep, first, new_name), every]
        loop.start = first
        loop.body.append(gone)
        return [*before, loop]
    told = L.Name(new_name("told"))
    more = L.compare("!=", L.Bin("&", told, L.ONE, "int64"), L.ZERO)
    only = copy.deepcopy(loop.body)
    L.map_stmts(only, lambda e: _in_only_round(e, sweep, first))
    loop.body.append(gone)
    return [
        L.Let(told.name, sweep.chosen),
        L.Let(first.name, L.Bin(">>", told, L.ONE, "int64")),
        L.If(
            L.either(wild, more),
            [*sweep.again, loop],
            [L.If(L.compare("!=", first, loop.stop), only)],
        ),
    ]


def _in_only_round(e: L.Expr, sweep: Shortened, first: L.Name) -> L.Expr | None:
    if isinstance(e, L.Load):
        return sweep.stands_for.get(e.buffer)
    return first if e == L.Name(sweep.loop.var) else None


def _search(sweep: Shortened, first: L.Name, new_name: Callable[[str], str]) -> list[L.Stmt]:
    """Goes through all rounds, the last ones first."""
    loop = sweep.loop
    at = L.Name(new_name(loop.var))
    passes = L.map_expr(sweep.passes, lambda e: at if e == L.Name(loop.var) else None)
    back = L.Lit(-loop.step.value, "int64")  # type: ignore[union-attr]  # it counts by one
    search = L.Loop(at.name, L.add(loop.stop, back), L.add(loop.start, back), back)
    search.body = [L.Let(first.name, L.Select(passes, first, at, "int64"))]
    return [L.Let(first.name, loop.stop), search]
