"""Turns a buffer that lives within one iteration into a scalar, on loop-level IR.

After loops have merged, many a temporary array is written and read at one index in one body.
It needs no memory.
"""

from __future__ import annotations

from ...ir.record import field, record
from ..loop_ir import nodes as L

# The blocks around an access, outermost first, and where in each the way goes on.
Path = tuple[tuple[list[L.Stmt], int], ...]


@record
class Uses:
    """All that happens to one buffer variable.  `odd`: something besides allocating it once
    and accessing elements."""

    allocs: list[tuple[list[L.Stmt], L.Alloc]] = field(default_factory=list)
    accesses: list[tuple[Path, L.Index, bool]] = field(default_factory=list)
    odd: bool = False


def level_of(path: Path, block: list[L.Stmt]) -> int | None:
    """How many blocks stand around this one on the way to an access, if it is on the way."""
    return next((k for k, (inside, _) in enumerate(path) if inside is block), None)


def scalarise(body: list[L.Stmt], params: list[str]) -> None:
    """Rewrites `body` in place."""
    for name, use in survey(body).items():
        if use.odd or len(use.allocs) != 1 or name in params or not use.accesses:
            continue
        home = _home(use)
        if home is not None:
            block, alloc = use.allocs[0]
            _replace(home, name, alloc.dtype)
            # Positions must stay as they were surveyed.
            block[L.place_in(block, alloc)] = L.Remark("")


def survey(body: list[L.Stmt]) -> dict[str, Uses]:
    """What happens to each buffer variable."""
    uses: dict[str, Uses] = {}
    _survey(body, (), uses)
    return uses


def _survey(
    block: list[L.Stmt],
    path: Path,
    uses: dict[str, Uses],
) -> None:
    def of(name: str) -> Uses:
        return uses.setdefault(name, Uses())

    for position, stmt in enumerate(block):
        here = (*path, (block, position))
        for e in L.exprs_of(stmt):
            if isinstance(e, L.Whole):
                of(e.buffer).odd = True
                parts = [p for i in e.index for p in L.walk_expr(i)]
            else:
                parts = list(L.walk_expr(e))
            for p in parts:
                if isinstance(p, L.Load):
                    of(p.buffer).accesses.append((here, p.index, False))
                elif isinstance(p, L.Size):
                    of(p.buffer).odd = True
        if isinstance(stmt, L.Alloc):
            of(stmt.name).allocs.append((block, stmt))
        elif isinstance(stmt, L.Put):
            plain = not stmt.add
            of(stmt.buffer).accesses.append((here, stmt.index, plain))
        elif isinstance(stmt, L.Alias):
            of(stmt.name).odd = of(stmt.buffer).odd = True
        elif isinstance(stmt, L.Bind):
            of(stmt.name).odd = of(stmt.other).odd = True
        elif isinstance(stmt, (L.BindCall, L.Invoke)):
            for name in stmt.names:
                of(name).odd = True
        for inner in L.blocks_of(stmt):
            _survey(inner, here, uses)


def _home(use: Uses) -> list[L.Stmt] | None:
    """The block in which the buffer is written first, and then read, at one index."""
    puts = [(path, index) for path, index, plain in use.accesses if plain]
    if not puts:
        return None
    path, index = puts[0]
    block, first = path[-1]
    level = len(path) - 1
    if level == 0:
        return None
    for other, at, _ in use.accesses:
        if len(other) <= level or other[level][0] is not block or at != index:
            return None
        if other[level][1] < first:
            return None
        if other[level][1] == first and (len(other) != len(path) or not _is_put(other, path)):
            return None
    names = {p.name for i in index for p in L.walk_expr(i) if isinstance(p, L.Name)}
    if any(isinstance(p, (L.Load, L.Size)) for i in index for p in L.walk_expr(i)):
        return None
    for stmt in L.walk(block[first:]):
        bound = stmt.var if isinstance(stmt, L.Loop) else getattr(stmt, "name", None)
        if bound in names:
            return None
    return block


def _is_put(other: Path, path: object) -> bool:
    """The access is the writing itself, not a read in the same statement."""
    block, position = other[-1]
    stmt = block[position]
    if not isinstance(stmt, L.Put):
        return False
    return not any(
        isinstance(p, L.Load) and p.buffer == stmt.buffer
        for e in (stmt.expr, *stmt.index)
        for p in L.walk_expr(e)
    )


def _replace(block: list[L.Stmt], name: str, dtype: str) -> None:
    def new(e: L.Expr) -> L.Expr | None:
        return L.Name(name, dtype) if isinstance(e, L.Load) and e.buffer == name else None

    L.map_stmts(block, new)
    _puts_to_lets(block, name, dtype)


def _puts_to_lets(block: list[L.Stmt], name: str, dtype: str) -> None:
    for position, stmt in enumerate(block):
        if isinstance(stmt, L.Put) and stmt.buffer == name:
            value = stmt.expr
            if stmt.add:
                value = L.Bin("+", L.Name(name, dtype), value, dtype)
            block[position] = L.Let(name, value)
        for inner in L.blocks_of(stmt):
            _puts_to_lets(inner, name, dtype)
