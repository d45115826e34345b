"""Affine integer arrays: elements are affine functions of the index, such as `2 * i + k`.

Such an array, for example `np.arange(n)[:, None] * 2 + np.arange(3)`, is never materialised:
computing an element costs less than loading it.  Its minimum and maximum follow from the
coefficients, so no element needs to be read for a bounds check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...ir.record import record
from ..loop_ir import nodes as L
from .lazy_array import Emitter, Value

# Leaf expressions that are loop-invariant.
_INVARIANT_LEAVES = (L.Lit, L.Name, L.Size)


@record(frozen=True)
class Affine:
    """The affine function start + steps[0] * index[0] + steps[1] * index[1] + …"""

    start: L.Expr
    steps: tuple[L.Expr, ...]

    def at(self, index: L.Index) -> L.Expr:
        total: L.Expr = L.ZERO
        for i, step in zip(index, self.steps, strict=True):
            total = L.add(total, L.mul(i, step))
        return L.add(total, self.start)


def symbolic_element(emitter: Emitter, v: Value) -> tuple[L.Expr, tuple[L.Name, ...]] | None:
    """One element of `v` as an expression, and the symbolic index names in it.

    None if computing the element emits statements.
    """
    index = tuple(L.Name(f"?{k}") for k in range(v.ndim))
    with emitter.into([]) as scratch:
        e = v.at(emitter, index)
    return None if scratch else (e, index)


def affine_integers(emitter: Emitter, v: Value) -> Affine | None:
    """The elements of a virtual int64 array as an affine function of the index, else None."""
    if v.dtype != "int64" or v.memory is not None:
        return None
    found = symbolic_element(emitter, v)
    return as_affine(*found) if found else None


def as_affine(e: L.Expr, names: Sequence[L.Name]) -> Affine | None:
    """`e` as an affine function of the variables `names`; None if it is not affine."""
    if e in names:
        return Affine(L.ZERO, tuple(L.ONE if n == e else L.ZERO for n in names))
    if isinstance(e, _INVARIANT_LEAVES):
        return Affine(e, (L.ZERO,) * len(names))
    if isinstance(e, L.Un) and e.op == "-":
        x = as_affine(e.x, names)
        return _map(x, lambda s: L.mul(L.lit(-1), s)) if x else None
    if not isinstance(e, L.Bin) or e.op not in ("+", "-", "*") or e.dtype != "int64":
        return None
    x, y = as_affine(e.left, names), as_affine(e.right, names)
    if x is None or y is None:
        return None
    if e.op == "*":
        for a, b in ((x, y), (y, x)):
            if all(L.is_lit(s, 0) for s in b.steps):
                return _map(a, lambda s, k=b.start: L.mul(s, k))
        return None
    combine = L.add if e.op == "+" else L.sub
    steps = tuple(combine(s, t) for s, t in zip(x.steps, y.steps, strict=True))
    return Affine(combine(x.start, y.start), steps)


def _map(x: Affine, f: Callable[[L.Expr], L.Expr]) -> Affine:
    """`x` with `f` applied to the start and to every step."""
    return Affine(f(x.start), tuple(map(f, x.steps)))
