"""How much a loop does, as an expression to be computed before it runs.

The unit is an addition; what things cost relative to it is measured only roughly, for it
decides no more than whether a loop is worth the trouble of starting threads.
"""

from __future__ import annotations

from ..loop_ir import nodes as L
from .liveness import defs, names_in
from .single_assignment import single_definitions

# The operations that take long, and calls of functions.
_OPERATORS = {"/": 4, "//": 8, "%": 8, "**": 20}
CALL = 15
CHEAP_CALLS = {"np.sqrt": 4, "abs": 1, "np.abs": 1}
# Of numbers that take half the room, twice as many are computed at once.
_HALF = ("float32", "complex64", "int32")
# What is taken for the number of rounds where it is not known beforehand.
ROUNDS = 8


def work(loop: L.Loop, count: L.Expr) -> L.Expr:
    """What all `count` rounds of a loop do."""
    stmts = list(L.walk(loop.body))
    inside = {name for s in stmts for name in defs(s)}
    passed = L.mul(L.Bin("//", count, L.lit(2), "int64"), loop.step)
    middle: dict[L.Expr, L.Expr] = {L.Name(loop.var): L.add(loop.start, passed)}
    middle |= {L.Name(name): e for name, e in single_definitions(stmts).items()}
    return L.mul(count, _block(loop.body, inside, middle))


def trips(loop: L.Loop) -> L.Expr:
    """How often a loop runs; not more than 0 if it does not."""
    if L.is_lit(loop.step, 1):
        return L.sub(loop.stop, loop.start)
    if L.is_lit(loop.step, -1):
        return L.sub(loop.start, loop.stop)
    return L.Apply("rt.trip_count", (loop.start, loop.stop, loop.step), "int64")


def _loop(loop: L.Loop, inside: set[str], middle: dict[L.Expr, L.Expr]) -> L.Expr:
    """`middle`: a value for the variables of the loops around it."""

    def known(e: L.Expr) -> L.Expr:
        return L.map_expr(e, lambda part: known(middle[part]) if part in middle else None)

    if loop.exits_early:
        return _block(loop.body, inside, {**middle, L.Name(loop.var): loop.start})
    bounds = L.Loop(loop.var, known(loop.start), known(loop.stop), known(loop.step))
    rounds = trips(bounds)
    loads = any(isinstance(p, L.Load) for p in L.walk_expr(rounds))
    if loads or names_in([rounds]) & inside:
        rounds, half = L.lit(ROUNDS), L.lit(ROUNDS // 2)
    else:
        half = L.Bin("//", L.add(bounds.start, bounds.stop), L.lit(2), "int64")
    return L.mul(rounds, _block(loop.body, inside, {**middle, L.Name(loop.var): half}))


def _block(body: list[L.Stmt], inside: set[str], middle: dict[L.Expr, L.Expr]) -> L.Expr:
    total = 0  # in halves
    loops: L.Expr = L.ZERO
    for s in body:
        total += sum(_cost(e) for e in L.exprs_of(s) if not isinstance(e, L.Part))
        if isinstance(s, L.Loop):
            loops = L.add(loops, _loop(s, inside, middle))
        else:
            for block in L.blocks_of(s):
                loops = L.add(loops, _block(block, inside, middle))
        if isinstance(s, L.Store):
            total += _halves(1, s.expr.dtype)
    return L.add(loops, L.lit((total + 1) // 2))


def _cost(e: L.Expr) -> int:
    """In halves of an addition."""
    if isinstance(e, L.Load):
        return _halves(1, e.dtype)  # finding the place is not counted
    own = 0
    if isinstance(e, L.Apply):
        own = CHEAP_CALLS.get(e.function, CALL)
    elif isinstance(e, L.Bin):
        own = _OPERATORS.get(e.op, 1)
    elif isinstance(e, (L.Un, L.Select)):
        own = 1
    return _halves(own, e.dtype) + sum(map(_cost, L.parts_of(e)))


def _halves(cost: int, dtype: str) -> int:
    return cost if dtype in _HALF else 2 * cost
