"""Indices that wrap round the end of an axis, on loop-level IR.

    for j in range(n):                          for j in range(min(1, n)):
        y[j] = x[rt.remainder(j - 1, n)]            y[j] = x[rt.remainder(j - 1, n)]
                                                for j in range(1, n):
                                                    y[j] = x[j - 1]

Only the first or last few rounds need the remainder, which is slow and keeps the others from being
done several at a time.  So an innermost loop is cut in three, of which the middle one has none.
"""

from __future__ import annotations

import copy

from ..analysis.bounds import apart, larger, smaller
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L

# A longer body is not written down three times.
LONG = 60
# A shift beyond this leaves rounds at the ends that are worth a loop of their own: x is rolled by
# half of its length, say.
FAR = 64


def split_wraparound(body: list[L.Stmt]) -> None:
    """Rewrites `body` in place."""
    out: list[L.Stmt] = []
    for stmt in body:
        for inner in L.blocks_of(stmt):
            split_wraparound(inner)
        out += _cut(stmt) if isinstance(stmt, L.Loop) else [stmt]
    body[:] = out


def _cut(loop: L.Loop) -> list[L.Stmt]:
    inside = list(L.walk(loop.body))
    if len(inside) > LONG or any(isinstance(s, (L.Loop, L.While, L.Break)) for s in inside):
        return [loop]
    bound = {loop.var} | {name for s in inside for name in defs(s)}
    found, bounds = _wrapped(loop.var, inside, bound), L.span(loop)
    # The bounds are asked for three times, and the rounds must not change them.
    if not found or bounds is None or names_in(bounds) & bound or not all(map(_is_size, bounds)):
        return [loop]
    first, end = low, high = bounds
    for shift, size in found.values():
        low = larger(low, L.lit(-shift))
        high = smaller(high, L.sub(size, L.lit(shift)))
    j = L.Name(loop.var)
    before, middle, after = (copy.deepcopy(loop) for _ in range(3))
    L.map_stmts(middle.body, lambda e: L.add(j, L.lit(found[e][0])) if e in found else None)
    _run(before, first, smaller(low, end))
    _run(middle, low, high)
    _run(after, larger(low, high), end)
    parts: list[L.Stmt] = [before, middle, after]
    # Where nothing wraps at an end, no round is left there.
    if low == first:
        parts.remove(before)
    if high == end:
        parts.remove(after)
    return parts if L.is_lit(loop.step, 1) else parts[::-1]


def _run(loop: L.Loop, first: L.Expr, end: L.Expr) -> None:
    if L.is_lit(loop.step, 1):
        loop.start, loop.stop = first, end
    else:
        loop.start, loop.stop = L.sub(end, L.ONE), L.sub(first, L.ONE)


def _is_size(e: L.Expr) -> bool:
    return L.is_simple(apart(e)[0])


def _wrapped(var: str, inside: list[L.Stmt], bound: set[str]) -> dict[L.Expr, tuple[int, L.Expr]]:
    """The remainders of `var + shift` by a size that is not among what the loop sets."""
    found: dict[L.Expr, tuple[int, L.Expr]] = {}
    for stmt in inside:
        for part in L.parts_read(stmt):
            if not (isinstance(part, L.Apply) and part.function == "rt.remainder"):
                continue
            place, size = part.args
            shift = L.offset(place, var)
            if shift is None or abs(shift) > FAR or size.dtype != "int64":
                continue
            if L.is_simple(size) and not names_in([size]) & bound:
                found[part] = shift, size
    return found
