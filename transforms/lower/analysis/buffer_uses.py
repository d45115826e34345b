"""Use lists of buffers: where each buffer is allocated, loaded and stored."""

from __future__ import annotations

from ...ir.record import field, record
from ..loop_ir import nodes as L

# The blocks that enclose an access, outermost first, each with the position of the statement in it
# that contains the access.  The last entry is the accessing statement itself.
Path = tuple[tuple[list[L.Stmt], int], ...]


@record
class Uses:
    """The uses of one buffer variable.

    An access is (path, index, plain); `plain` is true for a store that does not accumulate.
    `has_other_uses` is set if the buffer has a use other than an allocation or an element access:
    its size is read, it is passed or returned as a whole, or it has a view or another name.
    """

    allocs: list[tuple[list[L.Stmt], L.Alloc]] = field(
        default_factory=list[tuple[list[L.Stmt], L.Alloc]]
    )
    accesses: list[tuple[Path, L.Index, bool]] = field(
        default_factory=list[tuple[Path, L.Index, bool]]
    )
    has_other_uses: bool = False


def depth_in_path(path: Path, block: list[L.Stmt]) -> int | None:
    """The depth of `block` in the path of an access, or None if it does not enclose the access."""
    return next((k for k, (inside, _) in enumerate(path) if inside is block), None)


def collect_uses(body: list[L.Stmt]) -> dict[str, Uses]:
    """The uses of each buffer variable of a function body."""
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
            if isinstance(e, L.Subview):
                of(e.buffer).has_other_uses = True
                parts = [p for i in e.index for p in L.walk_expr(i)]
            else:
                parts = list(L.walk_expr(e))
            for p in parts:
                if isinstance(p, L.Load):
                    of(p.buffer).accesses.append((here, p.index, False))
                elif isinstance(p, L.Size):
                    of(p.buffer).has_other_uses = True
        if isinstance(stmt, L.Alloc):
            of(stmt.name).allocs.append((block, stmt))
        elif isinstance(stmt, L.Store):
            plain = not stmt.add
            of(stmt.buffer).accesses.append((here, stmt.index, plain))
        elif isinstance(stmt, L.View):
            of(stmt.name).has_other_uses = of(stmt.buffer).has_other_uses = True
        elif isinstance(stmt, L.Rebind):
            of(stmt.name).has_other_uses = of(stmt.other).has_other_uses = True
        elif isinstance(stmt, (L.CallBuffers, L.CallRoutine)):
            for name in stmt.names:
                of(name).has_other_uses = True
        for inner in L.blocks_of(stmt):
            _survey(inner, here, uses)
