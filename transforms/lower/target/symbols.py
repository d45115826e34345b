"""The types of the names of a routine: dtypes and ranks of its buffers, dtypes of its scalars."""

from __future__ import annotations

from ...ir.record import field, record
from ..loop_ir import nodes as L
from ..loop_ir.operations import shared_buffers


@record
class Symbols:
    """`buffers` maps each buffer to its dtype and rank, `scalars` each scalar to its dtype.
    `taken` are all names in use."""

    buffers: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    scalars: dict[str, str] = field(default_factory=dict[str, str])
    taken: set[str] = field(default_factory=set[str])

    def new_name(self, hint: str) -> str:
        """A name that is not in use: `hint`, or `hint` with a number."""
        name, number = hint, 0
        while name in self.taken:
            number += 1
            name = f"{hint}_{number}"
        self.taken.add(name)
        return name

    def new_scalar(self, hint: str, dtype: str = "int64") -> L.Name:
        name = self.new_name(hint)
        self.scalars[name] = dtype
        return L.Name(name, dtype)

    def new_buffer(self, hint: str, dtype: str, rank: int) -> str:
        name = self.new_name(hint)
        self.buffers[name] = dtype, rank
        return name

    def copy(self) -> Symbols:
        return Symbols(dict(self.buffers), dict(self.scalars), set(self.taken))


def symbols_of(routine: L.Routine, taken: set[str]) -> Symbols:
    """The types of all names of a routine; `taken` are further names that are in use."""
    found = Symbols(taken=set(taken))
    for p in routine.params:
        if p.rank is not None:
            found.buffers[p.name] = p.dtype, p.rank
        else:
            found.scalars[p.name] = p.dtype
    stmts = list(L.walk(routine.body))
    for s in stmts:
        if isinstance(s, L.Alloc):
            found.buffers[s.name] = s.dtype, len(s.sizes)
        elif isinstance(s, L.Let):
            found.scalars[s.name] = s.expr.dtype
        elif isinstance(s, L.Loop):
            found.scalars.setdefault(s.var, "int64")
    _add_bound_buffers(stmts, found)
    found.taken |= {*found.buffers, *found.scalars}
    return found


def _add_bound_buffers(stmts: list[L.Stmt], found: Symbols) -> None:
    """Add the names bound to other buffers, whose types are known once those of the others are."""
    pending = [s for s in stmts if isinstance(s, (L.View, L.Rebind, L.CallBuffers))]
    while pending:
        left = [s for s in pending if not _add_bound_buffer(s, found)]
        if len(left) == len(pending):
            return
        pending = left


def _add_bound_buffer(s: L.View | L.Rebind | L.CallBuffers, found: Symbols) -> bool:
    other = next((b for b in shared_buffers(s) if b in found.buffers), None)
    if other is None:
        return False
    dtype, rank = found.buffers[other]
    rank = len(s.sizes) if isinstance(s, L.View) else rank
    for name in s.names if isinstance(s, L.CallBuffers) else (s.name,):
        found.buffers.setdefault(name, (dtype, rank))
    return True
