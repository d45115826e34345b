"""What a round computes before its loops, or after, in a loop of its own, on loop-level IR.

    for i in range(n):                  acc_rows = np.empty((n,), np.float64)
        acc = 0.0                       for i in range(n):
        for j in range(m):                  acc = 0.0
            acc += X[i, j] * w[j]           for j in range(m):
        total += np.exp(acc)                    acc += X[i, j] * w[j]
                                            acc_rows[i] = acc
                                        for i in range(n):
                                            total += np.exp(acc_rows[i])

Functions such as exp are computed several at a time, but only in innermost loops.  So what comes
after the last loop in a round, or before the first, goes into a loop that has nothing else if it
calls one; numbers that one part takes from the other are kept for it.
"""

from __future__ import annotations

from collections.abc import Callable

from . import loop_ir as L
from .live import binds, names_in, reads
from .siblings import Shares

# What is written out so that a loop computes several at once.
FUNCTIONS = frozenset(
    "np.exp np.exp2 np.expm1 np.log np.log2 np.log10 np.log1p np.sin np.cos np.tan np.sinh np.cosh "
    "np.tanh np.arctan np.arcsin np.arccos np.arcsinh rt.erf rt.erfc".split()
)
# Loops of so few rounds are unrolled, and the rounds around them done several at once.
FEW = 8
# More numbers are not worth keeping.
KEPT = 3
FLOATS = ("float64", "float32")


def split_calls(body: list[L.Stmt], shares: Shares, fresh: Callable[[str], str]) -> None:
    """Rewrites `body` in place.  `shares(a, b)`: two buffer variables may share memory."""
    out: list[L.Stmt] = []
    for stmt in body:
        for inner in L.blocks_of(stmt):
            split_calls(inner, shares, fresh)
        out += _split(stmt, shares, fresh) if isinstance(stmt, L.Loop) else [stmt]
    body[:] = out


def _split(loop: L.Loop, shares: Shares, fresh: Callable[[str], str]) -> list[L.Stmt]:
    size = _size(loop)
    places = [k for k, s in enumerate(loop.body) if isinstance(s, L.Loop)]
    if size is None or not places:
        return [loop]
    if all(_size(s) is None for s in loop.body if isinstance(s, L.Loop)):
        return [loop]
    if not all(isinstance(s, (L.Let, L.Put, L.Remark, L.Loop)) for s in L.walk(loop.body)):
        return [loop]
    for place in (places[-1] + 1, places[0]):
        parts = loop.body[:place], loop.body[place:]
        if _calls(parts[place == places[-1] + 1]):
            cut = _cut(loop, size, *parts, shares, fresh)
            if cut is not None:
                return cut
    return [loop]


def _cut(
    loop: L.Loop,
    size: L.Expr,
    first: list[L.Stmt],
    second: list[L.Stmt],
    shares: Shares,
    fresh: Callable[[str], str],
) -> list[L.Stmt] | None:
    """Two loops, of the parts of its body; None if these cannot be done one after the other."""
    made, later = _bound(first), _bound(second)
    if names_in([size]) & (made | later) or _reads(first) & later or made & later:
        return None
    if not _apart(loop.var, first, second, shares):
        return None
    types = {s.name: s.expr.dtype for s in L.walk(first) if isinstance(s, L.Let)}
    crossing = sorted(made & _reads(second))
    if len(crossing) > KEPT or any(types.get(name) not in FLOATS for name in crossing):
        return None
    i = L.Name(loop.var)
    before: list[L.Stmt] = []
    kept: dict[str, L.Expr] = {}
    for name in crossing:
        rows, dtype = fresh(f"{name}_rows"), types[name]
        before.append(L.Alloc(rows, dtype, (L.at_least_none(size),)))
        first.append(L.Put(rows, (i,), L.Name(name, dtype)))
        kept[name] = L.Load(rows, (i,), dtype)
    L.map_stmts(second, lambda e: kept.get(e.name) if isinstance(e, L.Name) else None)
    bounds = loop.var, loop.start, loop.stop, loop.step
    return [*before, L.Loop(*bounds, first), L.Loop(*bounds, second)]


def _size(loop: L.Loop) -> L.Expr | None:
    """How many rounds a loop has that runs through all numbers from 0, in either direction; None
    for another, or if they are few."""
    if L.is_lit(loop.start, 0) and L.is_lit(loop.step, 1):
        size = loop.stop
    elif L.is_lit(loop.stop, -1) and L.is_lit(loop.step, -1):
        size = L.add(loop.start, L.ONE)
    else:
        return None
    few = isinstance(size, L.Lit) and size.value <= FEW
    return size if L.is_simple(size) and not few and not loop.parallel else None


def _calls(part: list[L.Stmt]) -> bool:
    parts = (p for s in part for e in L.exprs_of(s) for p in L.walk_expr(e))
    return any(
        isinstance(p, L.Call) and p.function in FUNCTIONS and p.dtype in FLOATS for p in parts
    )


def _bound(block: list[L.Stmt]) -> set[str]:
    return {name for s in L.walk(block) for name in binds(s)}


def _reads(block: list[L.Stmt]) -> set[str]:
    return {name for s in L.walk(block) for name in reads(s)}


def _apart(var: str, first: list[L.Stmt], second: list[L.Stmt], shares: Shares) -> bool:
    """Whether no round's first part has to do with what another's second part reads or writes."""
    writes = [(s.buffer, s.index) for s in L.walk(first) if isinstance(s, L.Put)]
    touched = {b for b, _ in writes} | {load.buffer for load in _loads(first)}
    stored = {s.buffer for s in L.walk(second) if isinstance(s, L.Put)}
    if any(shares(a, b) for a in stored for b in touched):
        return False
    return all(
        buffer == load.buffer and _same_round(var, index, load.index)
        for load in _loads(second)
        for buffer, index in writes
        if buffer == load.buffer or shares(buffer, load.buffer)
    )


def _same_round(var: str, written: L.Index, read: L.Index) -> bool:
    """Whether an element that one round writes is read in that round alone."""
    return any(a == b == L.Name(var) for a, b in zip(written, read, strict=True))


def _loads(block: list[L.Stmt]) -> list[L.Load]:
    exprs = (e for s in L.walk(block) for e in L.exprs_of(s))
    return [p for e in exprs for p in L.walk_expr(e) if isinstance(p, L.Load)]
