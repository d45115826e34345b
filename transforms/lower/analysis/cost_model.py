"""Static cost model: the work of a loop as an expression that can be evaluated before it runs.

The unit is one addition.  The relative costs are measured only roughly, because they decide only
whether starting threads for a loop is profitable.
"""

from __future__ import annotations

from ..loop_ir import nodes as L
from ..loop_ir.operations import OPS
from .liveness import defs, names_in
from .single_assignment import single_definitions

# The costs of slow operators, in additions.
_OPERATOR_COSTS = {"/": 4, "//": 8, "%": 8, "**": 20}
# Dtypes of half the width: a vector register holds twice as many, so each costs half.
_HALF_WIDTH = ("float32", "complex64", "int32")
# The trip count assumed for a loop whose trip count is not available before the outer loop.
DEFAULT_TRIP_COUNT = 8


def loop_cost(loop: L.Loop, count: L.Expr) -> L.Expr:
    """The work of all `count` iterations of a loop.

    Inner bounds that depend on the loop's variable are evaluated at the middle iteration.
    """
    stmts = list(L.walk(loop.body))
    inside = {name for s in stmts for name in defs(s)}
    passed = L.mul(L.Bin("//", count, L.lit(2), "int64"), loop.step)
    middle: dict[L.Expr, L.Expr] = {L.Name(loop.var): L.add(loop.start, passed)}
    middle |= {L.Name(name): e for name, e in single_definitions(stmts).items()}
    return L.mul(count, _block(loop.body, inside, middle))


def trip_count(loop: L.Loop) -> L.Expr:
    """The trip count of a loop; zero or negative if it has no iterations."""
    if L.is_lit(loop.step, 1):
        return L.sub(loop.stop, loop.start)
    if L.is_lit(loop.step, -1):
        return L.sub(loop.start, loop.stop)
    return L.Apply("rt.trip_count", (loop.start, loop.stop, loop.step), "int64")


def _loop(loop: L.Loop, inside: set[str], middle: dict[L.Expr, L.Expr]) -> L.Expr:
    """The work of an inner loop.

    `inside` are the names that are defined in the outermost loop.  `middle` maps the variables of
    the enclosing loops to their middle values, and singly defined integers to their definitions.
    """

    def at_middle(e: L.Expr) -> L.Expr:
        return L.map_expr(e, lambda part: at_middle(middle[part]) if part in middle else None)

    if loop.exits_early:
        return _block(loop.body, inside, {**middle, L.Name(loop.var): loop.start})
    bounds = L.Loop(loop.var, at_middle(loop.start), at_middle(loop.stop), at_middle(loop.step))
    count = trip_count(bounds)
    loads = any(isinstance(p, L.Load) for p in L.walk_expr(count))
    if loads or names_in([count]) & inside:
        count, half = L.lit(DEFAULT_TRIP_COUNT), L.lit(DEFAULT_TRIP_COUNT // 2)
    else:
        half = L.Bin("//", L.add(bounds.start, bounds.stop), L.lit(2), "int64")
    return L.mul(count, _block(loop.body, inside, {**middle, L.Name(loop.var): half}))


def _block(body: list[L.Stmt], inside: set[str], middle: dict[L.Expr, L.Expr]) -> L.Expr:
    total = 0  # in half additions
    loops: L.Expr = L.ZERO
    for s in body:
        total += sum(_cost(e) for e in L.exprs_of(s) if not isinstance(e, L.Subview))
        if isinstance(s, L.Loop):
            loops = L.add(loops, _loop(s, inside, middle))
        else:
            for block in L.blocks_of(s):
                loops = L.add(loops, _block(block, inside, middle))
        if isinstance(s, L.Store):
            total += _half_additions(1, s.expr.dtype)
    return L.add(loops, L.lit((total + 1) // 2))


def _cost(e: L.Expr) -> int:
    """The cost of evaluating an expression, in half additions."""
    if isinstance(e, L.Load):
        return _half_additions(1, e.dtype)  # address computation is not counted
    own = 0
    if isinstance(e, L.Apply):
        own = OPS[e.function].cost
    elif isinstance(e, L.Bin):
        own = _OPERATOR_COSTS.get(e.op, 1)
    elif isinstance(e, (L.Un, L.Select)):
        own = 1
    return _half_additions(own, e.dtype) + sum(map(_cost, L.operands_of(e)))


def _half_additions(cost: int, dtype: str) -> int:
    """A cost in additions converted to half additions for operands of a dtype."""
    return cost if dtype in _HALF_WIDTH else 2 * cost
