"""A branch that only says which of two numbers some are becomes choices, on loop-level IR.

    if c:                               h = 0.0 if c else g
        h = 0.0                         k = g if c else 0.0
    else:                       →       for i in range(n):
        h = g                               x[i] += k * y[i]
        g = 0.0                         g = h
    for i in range(n):
        x[i] += g * y[i]
    g = h

The adjoint of `if v < m: m = v` is such a branch.  Loops around it can be one then, and which
of the numbers is zero, and when, is seen (`lower/sparsity/skip_zero_updates.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L

FLOATS = ("float32", "float64")
Values = dict[str, L.Expr]


def if_convert(body: list[L.Stmt], params: Iterable[str], new_name: Callable[[str], str]) -> None:
    """Rewrites `body` in place."""
    if any(isinstance(s, L.If) for s in L.walk(body)):
        _block(body, {*params}, new_name)


def _block(block: list[L.Stmt], bound: set[str], new_name: Callable[[str], str]) -> None:
    """`bound` are the variables that have a value."""
    position = 0
    while position < len(block):
        stmt = block[position]
        lets = _choices(stmt, bound) if isinstance(stmt, L.If) else None
        if lets is not None:
            block[position : position + 1] = lets
            for k in range(len(lets)):
                _own_name(block, position + k, new_name)
            position += len(lets)
            bound.update(let.name for let in lets)
            continue
        for inner in L.blocks_of(stmt):
            own = {stmt.var} if isinstance(stmt, L.Loop) else set()
            _block(inner, bound | own, new_name)
        if not isinstance(stmt, L.Loop):
            bound.update(defs(stmt))
        position += 1


def _choices(branch: L.If, bound: set[str]) -> list[L.Let] | None:
    """What a branch sets, one after the other."""
    ways = [_values(part) for part in L.blocks_of(branch)]
    then, other = ways
    if then is None or other is None or not any(_has_zero(way) for way in (then, other)):
        return None
    names = [*then, *(name for name in other if name not in then)]
    lets: list[L.Let] = []
    for name in names:
        dtype = (then.get(name) or other[name]).dtype
        before = L.Name(name, dtype)
        x, y = then.get(name, before), other.get(name, before)
        if x.dtype != y.dtype or (before in (x, y) and name not in bound):
            return None
        lets.append(L.Let(name, L.Select(branch.cond, x, y, dtype)))
    if names_in([branch.cond]) & {*names}:
        return None
    # A number is set after all that is chosen from what it was.
    out: list[L.Let] = []
    while lets:
        free = next((a for a in lets if not _read_by(lets, a)), None)
        if free is None:
            return None
        lets.remove(free)
        out.append(free)
    return out


def _read_by(lets: list[L.Let], let: L.Let) -> bool:
    return any(let.name in names_in([other.expr]) for other in lets if other is not let)


def _values(part: list[L.Stmt]) -> Values | None:
    """What numbers are after it, in terms of what they were before."""
    values: Values = {}
    for s in part:
        if isinstance(s, L.Comment):
            continue
        if not (isinstance(s, L.Let) and isinstance(s.expr, (L.Name, L.Lit))):
            return None
        if s.expr.dtype not in FLOATS:
            return None
        values[s.name] = values.get(getattr(s.expr, "name", ""), s.expr)
    return values


def _has_zero(values: Values) -> bool:
    return any(L.is_lit(e, 0) for e in values.values())


def _own_name(block: list[L.Stmt], position: int, new_name: Callable[[str], str]) -> None:
    """A number that is set again further down has another name until then."""
    let = block[position]
    assert isinstance(let, L.Let)
    end = next(
        (k for k in range(position + 1, len(block)) if let.name in _bound_in(block[k])), None
    )
    if end is None or not isinstance(block[end], L.Let) or L.leaves(block[position:end]):
        return
    old, new = L.Name(let.name, let.expr.dtype), L.Name(new_name(let.name), let.expr.dtype)
    for stmt in block[position + 1 : end]:
        L.map_stmts([stmt], lambda e: new if e == old else None)
    L.map_stmt(block[end], lambda e: new if e == old else None)
    let.name = new.name


def _bound_in(stmt: L.Stmt) -> set[str]:
    return {name for s in L.walk([stmt]) for name in defs(s)}
