"""Index-set splitting of loops whose indices wrap around the end of an axis, on loop-level IR.

    for j in range(n):                          for j in range(min(1, n)):
        y[j] = x[rt.remainder(j - 1, n)]            y[j] = x[rt.remainder(j - 1, n)]
                                                for j in range(1, n):
                                                    y[j] = x[j - 1]

Only the first or last few iterations need the remainder.  It is slow, and it prevents the
vectorisation of the others.  So an innermost loop is split in three, of which the middle one has no
remainder.
"""

from __future__ import annotations

import copy

from ..analysis.bounds import split_constant, symbolic_max, symbolic_min
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L

# The maximal number of statements of a body that is duplicated.
MAX_STATEMENTS = 60
# The maximal shift.  With a larger one, for example if x is rolled by half of its length, so many
# iterations wrap that they would need a loop of their own.
MAX_SHIFT = 64


def split_wraparound(body: list[L.Stmt]) -> None:
    """Rewrite `body` in place."""
    out: list[L.Stmt] = []
    for stmt in body:
        for inner in L.blocks_of(stmt):
            split_wraparound(inner)
        out += _split(stmt) if isinstance(stmt, L.Loop) else [stmt]
    body[:] = out


def _split(loop: L.Loop) -> list[L.Stmt]:
    """Return the loops that replace a loop, in the order of its iterations."""
    inside = list(L.walk(loop.body))
    if len(inside) > MAX_STATEMENTS or any(
        isinstance(s, (L.Loop, L.While, L.Break)) for s in inside
    ):
        return [loop]
    bound = {loop.var} | {name for s in inside for name in defs(s)}
    found, bounds = _wrapped(loop.var, inside, bound), L.index_range(loop)
    # The bounds are evaluated three times, so they must be cheap and loop-invariant.
    if (
        not found
        or bounds is None
        or names_in(bounds) & bound
        or not all(map(_is_cheap_bound, bounds))
    ):
        return [loop]
    first, end = low, high = bounds
    for shift, size in found.values():
        low = symbolic_max(low, L.lit(-shift))
        high = symbolic_min(high, L.sub(size, L.lit(shift)))
    j = L.Name(loop.var)
    before, middle, after = (copy.deepcopy(loop) for _ in range(3))
    L.map_stmts(middle.body, lambda e: L.add(j, L.lit(found[e][0])) if e in found else None)
    _restrict(before, first, symbolic_min(low, end))
    _restrict(middle, low, high)
    _restrict(after, symbolic_max(low, high), end)
    parts: list[L.Stmt] = [before, middle, after]
    # If nothing wraps at an end, the loop there is empty.
    if low == first:
        parts.remove(before)
    if high == end:
        parts.remove(after)
    return parts if L.is_lit(loop.step, 1) else parts[::-1]


def _restrict(loop: L.Loop, first: L.Expr, end: L.Expr) -> None:
    """Restrict a loop to the iterations from `first` up to but not including `end`."""
    if L.is_lit(loop.step, 1):
        loop.start, loop.stop = first, end
    else:
        loop.start, loop.stop = L.sub(end, L.ONE), L.sub(first, L.ONE)


def _is_cheap_bound(e: L.Expr) -> bool:
    """True for a simple expression, plus or minus a literal."""
    return L.is_simple(split_constant(e)[0])


def _wrapped(var: str, inside: list[L.Stmt], bound: set[str]) -> dict[L.Expr, tuple[int, L.Expr]]:
    """Return the remainders of `var + shift` by a loop-invariant size, with shift and size."""
    found: dict[L.Expr, tuple[int, L.Expr]] = {}
    for stmt in inside:
        for part in L.subexprs_read(stmt):
            if not (isinstance(part, L.Apply) and part.function == "rt.remainder"):
                continue
            index, size = part.args
            shift = L.constant_offset(index, var)
            if shift is None or abs(shift) > MAX_SHIFT or size.dtype != "int64":
                continue
            if L.is_simple(size) and not names_in([size]) & bound:
                found[part] = shift, size
    return found
