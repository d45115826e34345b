"""Scalar replacement: turn a buffer used within one iteration into a scalar, on loop-level IR.

After loop fusion many temporary arrays are stored and loaded at one index in one loop body.  They
need no memory.
"""

from __future__ import annotations

from ..analysis.buffer_uses import Path, Uses, collect_uses
from ..loop_ir import nodes as L


def replace_by_scalars(body: list[L.Stmt], params: list[str]) -> None:
    """Rewrite `body` in place."""
    for name, use in collect_uses(body).items():
        if use.has_other_uses or len(use.allocs) != 1 or name in params or not use.accesses:
            continue
        common = _common_block(use)
        if common is not None:
            block, alloc = use.allocs[0]
            _replace(common, name, alloc.dtype)
            # The positions in `collect_uses` must stay valid.
            block[L.position_of(block, alloc)] = L.Comment("")


def _common_block(use: Uses) -> list[L.Stmt] | None:
    """The block that contains all accesses, the first one a store, all at the same index, or None.

    The index must not change in the block after that store.
    """
    stores = [(path, index) for path, index, plain in use.accesses if plain]
    if not stores:
        return None
    path, index = stores[0]
    block, first = path[-1]
    level = len(path) - 1
    if level == 0:
        return None
    for other, at, _ in use.accesses:
        if len(other) <= level or other[level][0] is not block or at != index:
            return None
        if other[level][1] < first:
            return None
        if other[level][1] == first and (
            len(other) != len(path) or not _is_only_store(other, path)
        ):
            return None
    names = {p.name for i in index for p in L.walk_expr(i) if isinstance(p, L.Name)}
    if any(isinstance(p, (L.Load, L.Size)) for i in index for p in L.walk_expr(i)):
        return None
    for stmt in L.walk(block[first:]):
        bound = stmt.var if isinstance(stmt, L.Loop) else getattr(stmt, "name", None)
        if bound in names:
            return None
    return block


def _is_only_store(other: Path, path: object) -> bool:
    """True if the access is the store itself, not a load in the same statement."""
    block, position = other[-1]
    stmt = block[position]
    if not isinstance(stmt, L.Store):
        return False
    return not any(
        isinstance(p, L.Load) and p.buffer == stmt.buffer
        for e in (stmt.expr, *stmt.index)
        for p in L.walk_expr(e)
    )


def _replace(block: list[L.Stmt], name: str, dtype: str) -> None:
    """Replace the loads and stores of a buffer in a block by a scalar of the same name."""

    def new(e: L.Expr) -> L.Expr | None:
        return L.Name(name, dtype) if isinstance(e, L.Load) and e.buffer == name else None

    L.map_stmts(block, new)
    _stores_to_lets(block, name, dtype)


def _stores_to_lets(block: list[L.Stmt], name: str, dtype: str) -> None:
    for position, stmt in enumerate(block):
        if isinstance(stmt, L.Store) and stmt.buffer == name:
            value = stmt.expr
            if stmt.add:
                value = L.Bin("+", L.Name(name, dtype), value, dtype)
            block[position] = L.Let(name, value)
        for inner in L.blocks_of(stmt):
            _stores_to_lets(inner, name, dtype)
