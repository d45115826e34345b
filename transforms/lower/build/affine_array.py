"""Indices that are sums of loop variables times fixed numbers: `2 * i + k`.

An array of such integers, as `np.arange(n)[:, None] * 2 + np.arange(3)`, is never made: each of its
elements costs less to compute than to load, and its least and greatest are known without looking.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.record import record
from ..loop_ir import nodes as L
from .lazy_array import Emitter, Value

# What an integer that is the same in every round of a loop may consist of.
_FIXED = (L.Lit, L.Name, L.Size)


@record(frozen=True)
class Affine:
    """start + steps[0] * index[0] + steps[1] * index[1] + …"""

    start: L.Expr
    steps: tuple[L.Expr, ...]

    def at(self, index: L.Index) -> L.Expr:
        total: L.Expr = L.ZERO
        for i, step in zip(index, self.steps, strict=True):
            total = L.add(total, L.mul(i, step))
        return L.add(total, self.start)


def element(emitter: Emitter, v: Value) -> tuple[L.Expr, tuple[L.Name, ...]] | None:
    """What one element of `v` is at an index of these names; None if it takes statements."""
    index = tuple(L.Name(f"?{k}") for k in range(v.ndim))
    with emitter.into([]) as scratch:
        e = v.at(emitter, index)
    return None if scratch else (e, index)


def integers(emitter: Emitter, v: Value) -> Affine | None:
    """How the elements of an array of int64 follow from their index, if they do."""
    if v.dtype != "int64" or v.memory is not None:
        return None
    found = element(emitter, v)
    return affine(*found) if found else None


def affine(e: L.Expr, names: Sequence[L.Name]) -> Affine | None:
    """`e` as a function of the variables `names`."""
    if e in names:
        return Affine(L.ZERO, tuple(L.ONE if n == e else L.ZERO for n in names))
    if isinstance(e, _FIXED):
        return Affine(e, (L.ZERO,) * len(names))
    if isinstance(e, L.Un) and e.op == "-":
        x = affine(e.x, names)
        return _map(x, lambda s: L.mul(L.lit(-1), s)) if x else None
    if not isinstance(e, L.Bin) or e.op not in ("+", "-", "*") or e.dtype != "int64":
        return None
    x, y = affine(e.left, names), affine(e.right, names)
    if x is None or y is None:
        return None
    if e.op == "*":
        for a, b in ((x, y), (y, x)):
            if all(L.is_lit(s, 0) for s in b.steps):
                return _map(a, lambda s, k=b.start: L.mul(s, k))
        return None
    join = L.add if e.op == "+" else L.sub
    steps = tuple(join(s, t) for s, t in zip(x.steps, y.steps, strict=True))
    return Affine(join(x.start, y.start), steps)


def _map(x: Affine, f: Callable[[L.Expr], L.Expr]) -> Affine:
    return Affine(f(x.start), tuple(map(f, x.steps)))
