"""Shorten reverse sweeps of a running minimum or maximum, on loop-level IR.

    for c in range(n - 1, -1, -1):              first = -1
        t = g * (a[c] > b[c])                   for k in range(n):
        x[c] += t * y[c]                            first = first if a[k] < b[k] else k
        g = g * (a[c] < b[c])           →       if not (all_moderate and -1e50 <= g <= 1e50):
                                                    first = n - 1
                                                for c in range(first, -1, -1):
                                                    …
                                                    if g == 0.0 and all_moderate:
                                                        break

`g` is the loop-carried adjoint.  Iterations that leave `g` unchanged add nothing.  Neither do the
iterations after one that has consumed all of `g`, so that it is zero.  The search for the first
iteration with a contribution can be vectorised.  As in `skip_zero_updates.py`, this is valid only
where nothing is infinite or NaN (`all_moderate`).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

from ...ir.record import field, record
from ..analysis.alias import MayAlias
from ..analysis.liveness import Names, defs, live_after_loops, names_in, upward_exposed
from ..analysis.zero_product import MAX_MAGNITUDE, ScalarDefinitions
from ..loop_ir import nodes as L

# The maximal number of subexpressions of the condition that the search evaluates: it must cost less
# than an iteration of the sweep.
MAX_CONDITION_SIZE = 16
# Loops with at most this many iterations are not shortened.
MAX_SHORT_TRIPS = 4
# The statements that a shortened loop may contain.
_ALLOWED = (L.Let, L.Store, L.Loop, L.If, L.Comment)
# _IMPLIED[a][b]: the value of comparison b of two scalars if comparison a of them holds.
_IMPLIED = {
    "<": {"<": True, "<=": True, "!=": True, ">": False, ">=": False, "==": False},
    ">": {">": True, ">=": True, "!=": True, "<": False, "<=": False, "==": False},
}
# The comparisons with swapped operands.
SWAPPED_COMPARISONS = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


@record
class ShortenedSweep:
    """A loop to shorten.

    `adjoint` is its loop-carried adjoint.  An iteration leaves it unchanged if `unchanged_if`
    holds.
    """

    loop: L.Loop
    adjoint: L.Name
    unchanged_if: L.Expr
    factor: L.Expr  # each iteration multiplies the adjoint by it
    arrays: set[str]  # whose elements must not be large
    # The saved argmin or argmax (`save_argminmax.py`) instead of the compared values: twice the
    # index of the first iteration with a contribution, plus 1 unless it is the only one.
    saved_index: L.Expr | None = None
    # Statements that recompute the compared values.
    recompute: list[L.Stmt] = field(default_factory=list)
    # Literals for the elements of their buffers in a single iteration with a contribution.
    known_elements: dict[str, L.Expr] = field(default_factory=dict)


def find_shortened_sweeps(
    body: list[L.Stmt], numbers: ScalarDefinitions, may_alias: MayAlias
) -> list[ShortenedSweep]:
    """Return the loops that may be shortened if the elements of their arrays are not large."""
    after: dict[int, Names] | None = None
    found: list[ShortenedSweep] = []
    for loop, depth in _loops(body, 0):
        for let in loop.body:
            if isinstance(let, L.Let) and _carried_factor(let, numbers) is not None:
                after = after or live_after_loops(body)
                sweep = _sweep(loop, let, depth, numbers, may_alias, after[id(loop)])
                if sweep is not None:
                    found.append(sweep)
                    break
    return found


def _loops(block: list[L.Stmt], depth: int) -> Iterator[tuple[L.Loop, int]]:
    """Yield each loop with the depth of its innermost loop, counted from `depth` outside of the
    block."""
    for stmt in block:
        if isinstance(stmt, L.Loop):
            yield stmt, depth + _depth(stmt)
        for inner in L.blocks_of(stmt):
            yield from _loops(inner, depth + isinstance(stmt, (L.Loop, L.While)))


def _depth(stmt: L.Stmt) -> int:
    """Return the nesting depth of the loops in a statement, itself included."""
    own = isinstance(stmt, (L.Loop, L.While))
    return own + max((_depth(s) for block in L.blocks_of(stmt) for s in block), default=0)


def _carried_factor(let: L.Let, numbers: ScalarDefinitions) -> L.Expr | None:
    """Return the factor of a recurrence `g = g * factor`, or None.

    A select between `g` and zero is a product of `g` and the condition as a float.
    """
    e, number = let.expr, L.Name(let.name, let.expr.dtype)
    if isinstance(e, L.Name) and e != number:
        e = numbers.known.get(e.name, e)
    if isinstance(e, L.Select) and e.dtype in MAX_MAGNITUDE and let.name not in names_in([e.cond]):
        if e.x == number and L.is_lit(e.y, 0):
            return L.Cast(e.cond, e.dtype)
        if e.y == number and L.is_lit(e.x, 0):
            return L.Cast(L.Un("not", e.cond, "bool"), e.dtype)
    if isinstance(e, L.Bin) and e.op == "*" and e.dtype in MAX_MAGNITUDE:
        for x, y in ((e.left, e.right), (e.right, e.left)):
            if x == number and let.name not in names_in([y]):
                return y
    return None


def _sweep(
    loop: L.Loop,
    let: L.Let,
    depth: int,
    numbers: ScalarDefinitions,
    may_alias: MayAlias,
    later: frozenset[str],
) -> ShortenedSweep | None:
    """Return how to shorten `loop`, whose adjoint `let` updates, or None.  `later` are the names
    that are read after the loop."""
    factor = _carried_factor(let, numbers)
    inside = list(L.walk(loop.body))
    if factor is None or not _is_long(loop) or not all(isinstance(s, _ALLOWED) for s in inside):
        return None
    bound = [name for s in inside for name in defs(s)]
    own = {*bound, loop.var}
    # The adjoint must be the only loop-carried or live-out scalar.
    if bound.count(let.name) > 1 or (own & (later | upward_exposed(loop.body))) - {
        loop.var,
        let.name,
    }:
        return None
    if loop.var in bound or loop.var in later or not numbers.is_boolean_sum(factor):
        return None
    stores = [s for s in inside if isinstance(s, L.Store)]
    if not stores or not all(p.add for p in stores):
        return None
    number = L.Name(let.name, let.expr.dtype)
    for passes in _comparisons(factor, numbers):
        condition = _search_condition(passes, loop, own, numbers)
        if condition is None or any(
            may_alias(p.buffer, e.buffer)
            for p in stores
            for e in L.walk_expr(condition)
            if isinstance(e, L.Load)
        ):
            continue
        given = ConditionalValues(passes, numbers.known)
        if given.value(factor) != 1.0:
            continue
        added = [p.expr for p in stores]
        taken = numbers.arrays_if_zero(added, number)
        unchanged = numbers.arrays_if_zero(added, given.is_zero, frozenset((let.name,)))
        if taken is not None and unchanged is not None:
            arrays = taken | unchanged
            # The scan of an array must cost no more than the loops: at most as many axes.
            fits = all(numbers.ranks[a] <= depth for a in arrays)
            resolved = _substitute(factor, own, numbers)
            return ShortenedSweep(loop, number, condition, resolved, arrays) if fits else None
    return None


def _is_long(loop: L.Loop) -> bool:
    """True for a loop of step 1 or -1 that may have more than `MAX_SHORT_TRIPS` iterations."""
    span = L.index_range(loop)
    if span is None:
        return False
    trips = L.sub(span[1], span[0])
    return not isinstance(trips, L.Lit) or trips.value > MAX_SHORT_TRIPS


def _comparisons(e: L.Expr, numbers: ScalarDefinitions) -> Iterator[L.Expr]:
    """Yield the comparisons that `e` depends on, and the booleans that it loads."""
    for part in L.walk_expr(e):
        if isinstance(part, L.Bin) and part.op in _IMPLIED:
            yield part
        elif isinstance(part, L.Name) and part.name in numbers.known:
            yield from _comparisons(numbers.known[part.name], numbers)
        elif isinstance(part, L.Load) and part.dtype == "bool":
            yield from (part, L.Un("not", part, "bool"))


def _search_condition(
    e: L.Expr, loop: L.Loop, own: set[str], numbers: ScalarDefinitions
) -> L.Expr | None:
    """Return a condition of a loop's iteration in terms of its variable and of names from outside
    of the loop; None if it is too expensive or depends on other names."""
    out = _substitute(e, own, numbers)
    parts = L.walk_expr(out)
    cheap = len(parts) <= MAX_CONDITION_SIZE and not any(isinstance(p, L.Apply) for p in parts)
    return out if cheap and not (names_in([out]) & own) - {loop.var} else None


def _substitute(e: L.Expr, own: set[str], numbers: ScalarDefinitions) -> L.Expr:
    """Return `e` with the definitions of the scalars `own`, which the loop assigns, substituted."""

    def resolved(part: L.Expr) -> L.Expr | None:
        if isinstance(part, L.Name) and part.name in own and part.name in numbers.known:
            return L.map_expr(numbers.known[part.name], resolved)
        return None

    return L.map_expr(e, resolved)


class ConditionalValues:
    """Evaluates expressions under the assumption that the condition `passes` holds.

    `known` are the definitions of scalars.
    """

    def __init__(self, passes: L.Expr, known: dict[str, L.Expr]) -> None:
        self.passes, self.known = passes, known

    def is_zero(self, e: L.Expr) -> bool:
        return self.value(e) == 0.0

    def value(self, e: L.Expr) -> float | None:
        """Return the value of `e` (1.0 and 0.0 for booleans), or None if it is unknown."""
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
        if isinstance(e, L.Bin) and e.op in SWAPPED_COMPARISONS:
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
        pair, implied = (self.passes.left, self.passes.right), _IMPLIED[self.passes.op]
        if (e.left, e.right) == pair:
            return float(implied[e.op])
        if (e.right, e.left) == pair:
            return float(implied[SWAPPED_COMPARISONS[e.op]])
        return None


def shorten_minmax_sweeps(
    block: list[L.Stmt],
    sweeps: list[ShortenedSweep],
    all_moderate: L.Expr,
    new_name: Callable[[str], str],
) -> None:
    """Shorten the loops `sweeps` of a block in place.

    `all_moderate` is the condition that no element of their arrays is large, infinite or NaN.
    """
    chosen = {id(s.loop): s for s in sweeps}
    if chosen:
        _shorten(block, chosen, all_moderate, new_name)


def _shorten(
    block: list[L.Stmt],
    sweeps: dict[int, ShortenedSweep],
    all_moderate: L.Expr,
    new_name: Callable[[str], str],
) -> None:
    out: list[L.Stmt] = []
    for stmt in block:
        for inner in L.blocks_of(stmt):
            _shorten(inner, sweeps, all_moderate, new_name)
        out += (
            _shortened(sweeps[id(stmt)], all_moderate, new_name) if id(stmt) in sweeps else [stmt]
        )
    block[:] = out


def _shortened(
    sweep: ShortenedSweep, all_moderate: L.Expr, new_name: Callable[[str], str]
) -> list[L.Stmt]:
    """Return a loop from the first iteration with a contribution until the adjoint is zero."""
    loop, number = sweep.loop, sweep.adjoint
    dtype, limit = number.dtype, MAX_MAGNITUDE[number.dtype]
    first = L.Name(new_name("first"))
    is_small = L.logical_and(
        L.compare("<=", number, L.Lit(limit, dtype)), L.compare(">=", number, L.Lit(-limit, dtype))
    )
    unsafe = L.Un("not", L.logical_and(all_moderate, is_small), "bool")
    exit_if_zero = L.If(
        L.logical_and(L.compare("==", number, L.Lit(0.0, dtype)), all_moderate), [L.Break()]
    )
    loop.exits_early = True
    if sweep.saved_index is None:
        run_all = L.If(unsafe, [L.Let(first.name, loop.start)])
        before = [*_search(sweep, first, new_name), run_all]
        loop.start = first
        loop.body.append(exit_if_zero)
        return [*before, loop]
    encoded = L.Name(new_name("told"))
    has_more = L.compare("!=", L.Bin("&", encoded, L.ONE, "int64"), L.ZERO)
    single = copy.deepcopy(loop.body)
    L.map_stmts(single, lambda e: _in_single_iteration(e, sweep, first))
    loop.body.append(exit_if_zero)
    return [
        L.Let(encoded.name, sweep.saved_index),
        L.Let(first.name, L.Bin(">>", encoded, L.ONE, "int64")),
        L.If(
            L.logical_or(unsafe, has_more),
            [*sweep.recompute, loop],
            [L.If(L.compare("!=", first, loop.stop), single)],
        ),
    ]


def _in_single_iteration(e: L.Expr, sweep: ShortenedSweep, first: L.Name) -> L.Expr | None:
    """Return what replaces `e` in the single iteration `first` that has a contribution."""
    if isinstance(e, L.Load):
        return sweep.known_elements.get(e.buffer)
    return first if e == L.Name(sweep.loop.var) else None


def _search(sweep: ShortenedSweep, first: L.Name, new_name: Callable[[str], str]) -> list[L.Stmt]:
    """Return a search for the first iteration of the sweep with a contribution.

    It visits the iterations in the opposite order and keeps the last match.
    """
    loop = sweep.loop
    at = L.Name(new_name(loop.var))
    passes = L.map_expr(sweep.unchanged_if, lambda e: at if e == L.Name(loop.var) else None)
    back = L.Lit(-loop.step.value, "int64")  # type: ignore[union-attr]  # a unit step
    search = L.Loop(at.name, L.add(loop.stop, back), L.add(loop.start, back), back)
    search.body = [L.Let(first.name, L.Select(passes, first, at, "int64"))]
    return [L.Let(first.name, loop.stop), search]
