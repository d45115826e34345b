"""Scatter to gather: sums of shifted copies of one array become a single nest, on loop-level IR.

The adjoint of a stencil adds one array T into another several times, each time shifted:

    for i in range(n):          for i in range(n + 2):
        X[i] += T[i]        →       X[i] += T[i + 2] + T[i + 1] - T[i]
    for i in range(n):
        X[i + 1] += T[i]
    for i in range(n):
        X[i + 2] += -T[i]

On the right T is padded with a border of zeros, as wide as the shifts reach, so that no element of
X is a special case.  X is read and written once, and the nest is as fast as the stencil itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.record import field, record, replace
from ..analysis.alias import MayAlias
from ..analysis.buffer_uses import collect_uses
from ..analysis.footprint import footprint
from ..analysis.liveness import names_in
from ..analysis.zero_product import keeps_zero
from ..loop_ir import nodes as L

# The maximal distance between the shifts of a group.  A wider border has a cost of its own.
MAX_BORDER = 8


@record
class _Scatter:
    """A nest `X[i + c, …] += factor * T[i, …]` over all of T."""

    names: list[str]  # the loops' variables
    into: str  # X
    index: L.Index  # of X: zero at the axes of loops, loop-invariant at the others
    axes: tuple[int, ...]  # the axis of X along which each loop runs
    stops: tuple[L.Expr, ...]
    shift: tuple[int, ...]  # c for each loop
    addend: str  # T
    expr: L.Expr  # the term, with Name(addend) for the element of T
    dtype: str

    @property
    def kind(self) -> tuple[object, ...]:
        """All that scatters of one group have in common."""
        return self.into, self.index, self.axes, self.stops, self.addend, self.dtype


@record
class _Group:
    """Scatters of one kind in a block that become a single nest."""

    block: list[L.Stmt]
    members: list[tuple[L.Loop, _Scatter]] = field(default_factory=list)

    @property
    def spans(self) -> tuple[int, ...]:
        """The distance between the least and the largest shift along each axis."""
        shifts = list(zip(*(s.shift for _, s in self.members)))
        return tuple(max(c) - min(c) for c in shifts)


def scatter_to_gather(body: list[L.Stmt], may_alias: MayAlias) -> None:
    """Rewrite `body` in place."""
    uses = collect_uses(body)

    def is_paddable(s: _Scatter) -> bool:
        """True if T may be padded: nothing but loads and stores of its elements uses it."""
        use = uses[s.addend]
        if use.has_other_uses or len(use.allocs) != 1 or may_alias(s.into, s.addend):
            return False
        return use.allocs[0][1].sizes == s.stops

    groups: dict[str, list[_Group]] = {}
    for group in _groups(body, may_alias):
        if len({s.shift for _, s in group.members}) > 1 and max(group.spans) <= MAX_BORDER:
            if is_paddable(group.members[0][1]):
                groups.setdefault(group.members[0][1].addend, []).append(group)
    padded: set[str] = set()
    for addend in _topological_order(groups):
        # The scatters into an array that has been padded stay as they are: its indices have moved.
        its = [g for g in groups[addend] if g.members[0][1].into not in padded]
        if not its:
            continue
        border = tuple(max(widths) for widths in zip(*(g.spans for g in its)))
        sizes = _pad(body, uses[addend].allocs[0][1], border)
        padded.add(addend)
        for group in its:
            _replace(group, border, sizes)


def _topological_order(groups: dict[str, list[_Group]]) -> list[str]:
    """Return the addends in topological order: the addends of an array come before the array, if it
    is an addend itself."""
    done: dict[str, None] = {}

    def visit(addend: str, visiting: tuple[str, ...]) -> None:
        for other, its in groups.items():
            if other not in (*done, *visiting, addend):
                if any(g.members[0][1].into == addend for g in its):
                    visit(other, (*visiting, addend))
        done[addend] = None

    for addend in groups:
        if addend not in done:
            visit(addend, ())
    return list(done)


# ---------------------------------------------------------------- finding


def _groups(block: list[L.Stmt], may_alias: MayAlias) -> Iterator[_Group]:
    """Yield the groups of scatters that may be moved to the last of them."""
    open_groups: dict[tuple[object, ...], _Group] = {}
    for stmt in block:
        for inner in L.blocks_of(stmt):
            yield from _groups(inner, may_alias)
        scatter = _scatter(stmt)
        for kind, group in list(open_groups.items()):
            if not _may_move_after(stmt, scatter, group.members[0][1], may_alias):
                yield open_groups.pop(kind)
        if scatter is not None:
            assert isinstance(stmt, L.Loop)
            group = open_groups.setdefault(scatter.kind, _Group(block))
            group.members.append((stmt, scatter))
    yield from open_groups.values()


def _scatter(stmt: L.Stmt) -> _Scatter | None:
    """Return a statement as a scatter, if it is one."""
    nest = L.perfect_nest(stmt)
    if nest is None or not nest[1].add:
        return None
    loops, store = nest
    order = [loop.var for loop in loops]
    if any(names_in([loop.stop]) & set(order) for loop in loops):
        return None
    axes, shift, rest = [], [], []
    for axis, e in enumerate(store.index):
        at = L.constant_offset(e, order[len(axes)]) if len(axes) < len(order) else None
        if at is not None:
            axes.append(axis)
            shift.append(at)
        elif names_in([e]) & set(order) or any(isinstance(p, L.Load) for p in L.walk_expr(e)):
            return None
        rest.append(L.ZERO if at is not None else e)
    loads = {p for p in L.walk_expr(store.expr) if isinstance(p, L.Load)}
    if len(axes) != len(order) or len(loads) != 1:
        return None
    load = loads.pop()
    if load.index != tuple(map(L.Name, order)) or not keeps_zero(store.expr, load):
        return None
    stops = tuple(loop.stop for loop in loops)
    element = L.Name(load.buffer, load.dtype)
    expr = L.map_expr(store.expr, lambda e: element if e == load else None)
    target = store.buffer, tuple(rest), tuple(axes), stops, tuple(shift)
    return _Scatter(order, *target, load.buffer, expr, load.dtype)


def _may_move_after(
    stmt: L.Stmt, scatter: _Scatter | None, mine: _Scatter, may_alias: MayAlias
) -> bool:
    """True if the scatter `mine` may be moved after `stmt`."""
    if isinstance(stmt, L.Comment):
        return True
    if scatter is not None and scatter.into == mine.into:
        return not (may_alias(mine.into, mine.addend) or may_alias(mine.into, scatter.addend))
    f = footprint(stmt)
    names = {mine.into, mine.addend, *names_in((*mine.index, *mine.stops))}
    if f.is_barrier or f.fails or f.writes & names:
        return False
    if any(may_alias(name, mine.into) for name, _ in (*f.loads, *f.stores)):
        return False
    return not any(may_alias(name, mine.addend) for name, _ in f.stores)


# ---------------------------------------------------------------- rewriting


def _pad(body: list[L.Stmt], alloc: L.Alloc, border: tuple[int, ...]) -> L.Index:
    """Pad a buffer with a border and shift its elements inwards.  Return the sizes it had."""

    def inwards(index: L.Index) -> L.Index:
        return tuple(L.add(i, L.lit(width)) for i, width in zip(index, border))

    def load(e: L.Expr) -> L.Expr | None:
        if isinstance(e, L.Load) and e.buffer == alloc.name:
            return replace(e, index=inwards(e.index))
        return None

    L.map_stmts(body, load)
    for stmt in L.walk(body):
        if isinstance(stmt, L.Store) and stmt.buffer == alloc.name:
            stmt.index = inwards(stmt.index)
    sizes = alloc.sizes
    alloc.sizes = _padded_sizes(sizes, border)
    return sizes


def _padded_sizes(sizes: L.Index, border: tuple[int, ...]) -> L.Index:
    """Return sizes with a border on both sides of each axis."""
    return tuple(L.add(n, L.lit(2 * width)) for n, width in zip(sizes, border))


def _fill_border(
    buffer: str, dtype: str, names: list[str], sizes: L.Index, border: tuple[int, ...]
) -> list[L.Stmt]:
    """Return the nests that fill the border of a buffer with zeros."""
    zero = L.Lit(0.0, dtype)
    padded_sizes = _padded_sizes(sizes, border)
    nests: list[L.Stmt] = []
    for axis, width in enumerate(border):
        if width == 0:
            continue
        low: L.Index = tuple(map(L.Name, names))
        high = (*low[:axis], L.add(L.add(low[axis], sizes[axis]), L.lit(width)), *low[axis + 1 :])
        inner: list[L.Stmt] = [L.Store(buffer, low, zero), L.Store(buffer, high, zero)]
        nests += _nest(
            names, (*padded_sizes[:axis], L.lit(width), *padded_sizes[axis + 1 :]), inner
        )
    return nests


def _nest(names: list[str], stops: tuple[L.Expr, ...], inner: list[L.Stmt]) -> list[L.Stmt]:
    for name, stop in reversed(list(zip(names, stops))):
        inner = [L.Loop(name, L.ZERO, stop, L.ONE, inner)]
    return inner


def _replace(group: _Group, border: tuple[int, ...], sizes: L.Index) -> None:
    """Replace the last nest of a group by a gather, and remove the others."""
    last, like = group.members[-1]
    names = like.names
    shifts = list(zip(*(s.shift for _, s in group.members)))
    total: L.Expr | None = None
    for _, scatter in sorted(group.members, key=lambda m: m[1].shift, reverse=True):
        index = tuple(
            L.add(L.Name(name), L.lit(max(c) - own + width - (max(c) - min(c))))
            for name, c, own, width in zip(names, shifts, scatter.shift, border)
        )
        element = L.Load(like.addend, index, like.dtype)
        own_name = L.Name(like.addend, like.dtype)
        term = L.map_expr(scatter.expr, lambda e, o=own_name, x=element: x if e == o else None)
        total = term if total is None else L.Bin("+", total, term, like.dtype)
    assert total is not None
    index_out = list(like.index)
    for axis, name, c in zip(like.axes, names, shifts):
        index_out[axis] = L.add(L.Name(name), L.lit(min(c)))
    # If T is empty, X may be too small for the border.
    stops = tuple(
        L.select(L.compare(">", n, L.ZERO), L.add(n, L.lit(span)), L.ZERO) if span else n
        for n, span in zip(like.stops, group.spans)
    )
    store = L.Store(like.into, tuple(index_out), total, add=True)
    removed = [id(loop) for loop, _ in group.members[:-1]]
    out: list[L.Stmt] = []
    for stmt in group.block:
        if stmt is last:
            # Not after the allocation: there the fill would prevent the fusion of the loop that
            # stores to the buffer with other loops.
            out += _fill_border(like.addend, like.dtype, names, sizes, border)
            out += _nest(names, stops, [store])
        elif id(stmt) not in removed:
            out.append(stmt)
    group.block[:] = out
