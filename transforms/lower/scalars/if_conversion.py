"""If-conversion: a branch that only selects scalars becomes selects, on loop-level IR.

    if c:                               h = 0.0 if c else g
        h = 0.0                         k = g if c else 0.0
    else:                       →       for i in range(n):
        h = g                               x[i] += k * y[i]
        g = 0.0                         g = h
    for i in range(n):
        x[i] += g * y[i]
    g = h

The adjoint of `if v < m: m = v` is such a branch.  Without the branch, the loops before and after
it can be fused.  The selects also show which of the scalars is zero, and under which condition
(`lower/sparsity/skip_zero_updates.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L

FLOATS = ("float32", "float64")
Values = dict[str, L.Expr]


def if_convert(body: list[L.Stmt], params: Iterable[str], new_name: Callable[[str], str]) -> None:
    """Rewrite `body` in place."""
    if any(isinstance(s, L.If) for s in L.walk(body)):
        _block(body, {*params}, new_name)


def _block(block: list[L.Stmt], bound: set[str], new_name: Callable[[str], str]) -> None:
    """Convert the branches of a block in place.  `bound` are the variables assigned before it."""
    position = 0
    while position < len(block):
        stmt = block[position]
        lets = _selects(stmt, bound) if isinstance(stmt, L.If) else None
        if lets is not None:
            block[position : position + 1] = lets
            for k in range(len(lets)):
                _split_live_range(block, position + k, new_name)
            position += len(lets)
            bound.update(let.name for let in lets)
            continue
        for inner in L.blocks_of(stmt):
            counter = {stmt.var} if isinstance(stmt, L.Loop) else set()
            _block(inner, bound | counter, new_name)
        if not isinstance(stmt, L.Loop):
            bound.update(defs(stmt))
        position += 1


def _selects(branch: L.If, bound: set[str]) -> list[L.Let] | None:
    """Return the selects that replace a branch, in an order in which they can be executed.

    Return None if the branch does more than copy scalars and literals, if no arm sets a scalar to
    zero, if a scalar would get two dtypes, if one that an arm leaves unchanged is not in `bound`,
    if the condition reads a scalar that the branch sets, or if no such order exists.
    """
    arms = [_values(part) for part in L.blocks_of(branch)]
    then, other = arms
    if then is None or other is None or not any(_has_zero(arm) for arm in (then, other)):
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
    # Topological order: a scalar is assigned after all selects that read its old value.
    out: list[L.Let] = []
    while lets:
        unread = next((a for a in lets if not _read_by(lets, a)), None)
        if unread is None:
            return None
        lets.remove(unread)
        out.append(unread)
    return out


def _read_by(lets: list[L.Let], let: L.Let) -> bool:
    return any(let.name in names_in([other.expr]) for other in lets if other is not let)


def _values(part: list[L.Stmt]) -> Values | None:
    """Return the scalars that an arm sets, by their values before the branch.

    Return None if the arm contains anything but copies of scalars and float literals.
    """
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


def _split_live_range(block: list[L.Stmt], position: int, new_name: Callable[[str], str]) -> None:
    """Rename a scalar from its definition to its next definition in the block, as in SSA form."""
    let = block[position]
    assert isinstance(let, L.Let)
    end = next(
        (k for k in range(position + 1, len(block)) if let.name in _bound_in(block[k])), None
    )
    if end is None or not isinstance(block[end], L.Let) or L.has_break(block[position:end]):
        return
    old, new = L.Name(let.name, let.expr.dtype), L.Name(new_name(let.name), let.expr.dtype)
    for stmt in block[position + 1 : end]:
        L.map_stmts([stmt], lambda e: new if e == old else None)
    L.map_stmt(block[end], lambda e: new if e == old else None)
    let.name = new.name


def _bound_in(stmt: L.Stmt) -> set[str]:
    return {name for s in L.walk([stmt]) for name in defs(s)}
