"""Data layout selection: choose the order of the axes of a buffer in memory, on loop-level IR.

    for j in range(m):                      a_turned = np.empty((n, m), np.float64)
        for k in range(n):                  for i in range(m):
            for i in range(m):                  for j in range(n):
                c[j, i] += a[i, k]                  a_turned[j, i] = a[i, j]
                                            for j in range(m):
                                                for k in range(n):
                                                    for i in range(m):
                                                        c[j, i] += a_turned[k, i]

Every access votes for the order in which its enclosing loops run along the axes, weighted by its
estimated execution count.  A buffer that the function allocates gets the winning order wherever it
is used: only the indices are permuted; the computation and its order stay the same.  A parameter
that is only read is copied once, and an out-buffer is written once, at the end, if the copy costs
less than it saves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from ...ir.record import field, record, replace
from ..analysis.alias import MayAlias
from ..analysis.liveness import names_in
from ..analysis.parameters import Parameters
from ..analysis.single_assignment import single_definitions
from ..build.lazy_array import Emitter
from ..loop_ir import nodes as L
from ..loop_ir.operations import written_buffers

# The assumed trip count of a loop or length of an axis that is not a constant.
DEFAULT_LENGTH = 32
# The least assumed length of an axis that the program indexes by literals.
MIN_SHORT_LENGTH = 4
# A buffer of at most so many elements is left as it is.
MAX_SMALL_ELEMENTS = 64
# Another axis becomes the last only with more than so many times as many votes as the present one.
MIN_VOTE_RATIO = 2
# A copy must improve at least so many accesses for each element.
MIN_REUSE_PER_ELEMENT = 4

Order = tuple[int, ...]
Path = tuple[L.Loop | L.While, ...]


@record
class Access:
    """An access to an element.

    `around` are the enclosing loops, outermost first.  `kind` is "load", "store" or "add".
    """

    index: L.Index
    around: Path
    kind: str

    @property
    def times(self) -> int:
        """The number of memory operations: an accumulation is a load and a store."""
        return 2 if self.kind == "add" else 1


@record
class Uses:
    """The uses of a buffer variable.

    `bound` are the variables that a `Rebind` binds to its buffer, or to whose buffers it is bound.
    `whole`: it has a use that depends on its layout.
    """

    allocs: list[L.Alloc] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)
    written: bool = False
    whole: bool = False


@record
class _Layout:
    """The new name of a buffer and the new order of its axes."""

    name: str
    order: Order


def choose_layout(
    body: list[L.Stmt], params: Parameters, may_alias: MayAlias, emitter: Emitter
) -> None:
    """Rewrite `body` in place."""
    uses = collect_uses(body)
    poll = LayoutVotes(body, {**params.sizes, **sizes_of(uses)}, uses)
    layouts: dict[str, _Layout] = {}
    for names in _classes(uses):
        order = _order_for_local([uses[name] for name in names], poll)
        if order is not None and not any(name in params.dtypes for name in names):
            layouts.update((name, _Layout(name, order)) for name in names)
    copies = {}
    for name in params.dtypes:
        order = _order_for_parameter(name, params, uses, may_alias, poll)
        if order is not None:
            layouts[name] = copies[name] = _Layout(emitter.new_name(f"{name}_turned"), order)
    if layouts:
        _rename(body, layouts)
    for name, layout in copies.items():
        _copy(body, name, layout, params, emitter)


# ---------------------------------------------------------------- uses


def collect_uses(body: list[L.Stmt]) -> dict[str, Uses]:
    """The uses of each buffer variable of a function body."""
    uses: dict[str, Uses] = {}

    def of(name: str) -> Uses:
        return uses.setdefault(name, Uses())

    def collect(block: list[L.Stmt], around: Path) -> None:
        for stmt in block:
            for e in L.exprs_of(stmt):
                if isinstance(e, L.Subview):
                    of(e.buffer).whole = True
                for part in (p for i in _scalars(e) for p in L.walk_expr(i)):
                    if isinstance(part, L.Load):
                        of(part.buffer).accesses.append(Access(part.index, around, "load"))
            for buffer in written_buffers(stmt):
                of(buffer).written = True
            if isinstance(stmt, L.Alloc):
                of(stmt.name).allocs.append(stmt)
            elif isinstance(stmt, L.Store):
                access = Access(stmt.index, around, "add" if stmt.add else "store")
                of(stmt.buffer).accesses.append(access)
            elif isinstance(stmt, L.View):
                of(stmt.name).whole = of(stmt.buffer).whole = True
            elif isinstance(stmt, L.Rebind):
                of(stmt.name).bound.add(stmt.other)
                of(stmt.other).bound.add(stmt.name)
            elif isinstance(stmt, (L.CallBuffers, L.CallRoutine)):
                for name in stmt.names:
                    of(name).whole = True
            for inner in L.blocks_of(stmt):
                collect(inner, (*around, stmt) if isinstance(stmt, (L.Loop, L.While)) else around)

    collect(body, ())
    return uses


def _scalars(e: L.Expr | L.Subview) -> tuple[L.Expr, ...]:
    """The scalar expressions of an argument."""
    return e.index if isinstance(e, L.Subview) else (e,)


def _classes(uses: dict[str, Uses]) -> Iterable[list[str]]:
    """The classes of variables that may be bound to the same buffer and so must share a layout."""
    seen: set[str] = set()
    for name in uses:
        names = [name] if name not in seen else []
        for one in names:
            names += sorted(uses[one].bound - {*names})
        seen.update(names)
        if names:
            yield names


# ---------------------------------------------------------------- selection


def _order_for_local(uses: list[Uses], poll: LayoutVotes) -> Order | None:
    """The axis order for a class of buffers that the function allocates, or None to keep it."""
    sizes = [alloc.sizes for use in uses for alloc in use.allocs]
    if not sizes or len(sizes[0]) < 2 or any(use.whole for use in uses):
        return None
    return _winning_order(poll.votes(a for use in uses for a in use.accesses), sizes[0])


def _order_for_parameter(
    name: str, params: Parameters, uses: dict[str, Uses], may_alias: MayAlias, poll: LayoutVotes
) -> Order | None:
    """The axis order for a copy that replaces a parameter, or None to keep the parameter."""
    use, sizes = uses.get(name), params.sizes[name]
    if use is None or not use.accesses or len(sizes) < 2:
        return None
    if use.allocs or use.bound or name in params.escaping:
        return None
    order = _winning_order(poll.votes(use.accesses), sizes)
    if order is None:
        return None
    others = [other for b, other in uses.items() if b != name and may_alias(name, b)]
    if name in params.outs:
        if use.whole or others:
            return None
    elif use.written or any(other.written or other.bound for other in others):
        return None
    # Only accesses that cover the array count: of an array that is read in one corner only, most
    # elements would be copied for nothing.
    votes = poll.votes(a for a in use.accesses if poll.covers_array(a))
    saved = _votes_for_last(votes, order[-1]) - _votes_for_last(votes, len(sizes) - 1)
    elements = math.prod(map(poll.length, sizes))
    return order if saved >= MIN_REUSE_PER_ELEMENT * elements else None


class LayoutVotes:
    """Determines in which order loops run along the axes of buffers, and how often."""

    def __init__(
        self, body: list[L.Stmt], sizes: dict[str, tuple[L.Expr, ...]], uses: dict[str, Uses]
    ) -> None:
        self.known = single_definitions(list(L.walk(body)))
        self.short = _short_axes(sizes, uses)

    def votes(self, accesses: Iterable[Access]) -> Counter[Order]:
        """The votes for each axis order: the estimated number of memory operations."""
        votes: Counter[Order] = Counter()
        for access in accesses:
            order = self.order(access)
            if order is not None:
                votes[order] += access.times * self.execution_count(access)
        return votes

    def execution_count(self, access: Access) -> int:
        """The estimated execution count of an access."""
        return math.prod(map(self._trip_count, access.around))

    def length(self, size: L.Expr) -> int:
        """The estimated length of an axis."""
        return (
            max(size.value, 0) if isinstance(size, L.Lit) else self.short.get(size, DEFAULT_LENGTH)
        )

    def _trip_count(self, loop: L.Loop | L.While) -> int:
        if isinstance(loop, L.While) or not isinstance(loop.step, L.Lit) or not loop.step.value:
            return DEFAULT_LENGTH
        return self.length(L.sub(loop.stop, loop.start)) // abs(loop.step.value)

    def order(self, access: Access) -> Order | None:
        """The axis order that suits an access: axes of outer loops first, of the innermost last.

        None unless the innermost loop runs along exactly one axis, with stride 1 or -1.
        """
        if not access.around or not isinstance(loop := access.around[-1], L.Loop):
            return None
        held = [axis for axis, e in enumerate(access.index) if loop.var in names_in([e])]
        if len(held) != 1 or not _runs_along(access.index[held[0]], loop.var):
            return None
        depths = {
            loop.var: depth for depth, loop in enumerate(access.around) if isinstance(loop, L.Loop)
        }

        def depth(axis: int) -> int:
            names = self._terms([access.index[axis]])
            return max((d for name, d in depths.items() if name in names), default=-1)

        rest = [axis for axis in range(len(access.index)) if axis != held[0]]
        return (*sorted(rest, key=depth), held[0])

    def covers_array(self, access: Access) -> bool:
        """True if along each axis runs a distinct loop whose bounds depend on an array size."""
        loops = {loop.var: loop for loop in access.around if isinstance(loop, L.Loop)}
        free = set(loops)
        for e in access.index:
            names = self._terms([e])
            along = {v for v in free if v in names and self._depends_on_size(loops[v], loops)}
            if not along:
                return False
            free.remove(min(along))
        return True

    def _depends_on_size(self, loop: L.Loop, loops: dict[str, L.Loop]) -> bool:
        """True if the bounds of a loop depend on an array size, directly or through outer loops."""
        seen: set[str] = set()
        todo = [loop]
        for one in todo:
            terms = self._terms([one.start, one.stop])
            if any(isinstance(term, L.Size) for term in terms):
                return True
            around = {name for name in loops if name in terms} - seen
            todo += [loops[name] for name in sorted(around)]
            seen |= around
        return False

    def _terms(self, exprs: list[L.Expr]) -> set[L.Expr | str]:
        """The names and sizes that expressions are computed from, through single definitions."""
        found: set[L.Expr | str] = set()
        todo = [*exprs]
        while todo:
            for part in L.walk_expr(todo.pop()):
                if isinstance(part, L.Size):
                    found.add(part)
                elif isinstance(part, L.Name) and part.name not in found:
                    found.add(part.name)
                    if part.name in self.known:
                        todo.append(self.known[part.name])
        return found


def _winning_order(votes: Counter[Order], sizes: tuple[L.Expr, ...]) -> Order | None:
    """The winning axis order, if its last axis differs from the present one; otherwise None."""
    rank, size = len(sizes), L.product(sizes)
    if isinstance(size, L.Lit) and size.value <= MAX_SMALL_ELEMENTS:
        return None
    last = max(range(rank), key=lambda axis: (_votes_for_last(votes, axis), axis))
    if all(L.is_lit(size, 1) for size in sizes[last + 1 :]):
        return None
    if _votes_for_last(votes, last) <= MIN_VOTE_RATIO * _votes_for_last(votes, rank - 1):
        return None
    return max((n, order) for order, n in votes.items() if order[-1] == last)[1]


def _votes_for_last(votes: Counter[Order], axis: int) -> int:
    """The number of votes for orders whose last axis is `axis`."""
    return sum(n for order, n in votes.items() if order[-1] == axis)


def sizes_of(uses: dict[str, Uses]) -> dict[str, tuple[L.Expr, ...]]:
    """The sizes of the allocated buffers."""
    return {name: use.allocs[0].sizes for name, use in uses.items() if use.allocs}


def _short_axes(sizes: dict[str, tuple[L.Expr, ...]], uses: dict[str, Uses]) -> dict[L.Expr, int]:
    """The assumed lengths of short axes, by size expression.

    An axis is short if the program indexes it by the consecutive literals 0, 1, …, as it does with
    coordinates.
    """
    literals: dict[L.Expr, set[int]] = {}
    for name, use in uses.items():
        for access in use.accesses:
            for e, size in zip(access.index, sizes.get(name, ())):
                if isinstance(e, L.Lit) and isinstance(size, L.Size):
                    literals.setdefault(size, set()).add(e.value)
    return {
        size: max(len(indices), MIN_SHORT_LENGTH)
        for size, indices in literals.items()
        if len(indices) > 1 and indices == {*range(len(indices))}
    }


def _runs_along(e: L.Expr, var: str) -> bool:
    """True if an index is a sum or difference in which one operand is the loop's variable alone.

    The other operands are taken not to depend on the variable.
    """
    if isinstance(e, L.Bin) and e.op in "+-":
        return _runs_along(e.left, var) != _runs_along(e.right, var)
    return e == L.Name(var)


# ---------------------------------------------------------------- rewriting


def _rename(body: list[L.Stmt], layouts: dict[str, _Layout]) -> None:
    """Rename buffers and permute their indices and sizes, in place."""

    def renamed(e: L.Expr) -> L.Expr | None:
        layout = layouts.get(e.buffer) if isinstance(e, (L.Load, L.Size)) else None
        if layout is None:
            return None
        if isinstance(e, L.Load):
            index = tuple(L.map_expr(i, renamed) for i in e.index)
            return replace(e, buffer=layout.name, index=permute(index, layout.order))
        assert isinstance(e, L.Size)
        # The sizes of a parameter are still read from the parameter.
        return replace(e, axis=layout.order.index(e.axis)) if layout.name == e.buffer else None

    L.map_stmts(body, renamed)
    for stmt in L.walk(body):
        if isinstance(stmt, L.Store) and stmt.buffer in layouts:
            layout = layouts[stmt.buffer]
            stmt.buffer, stmt.index = layout.name, permute(stmt.index, layout.order)
        elif isinstance(stmt, L.Alloc) and stmt.name in layouts:
            stmt.sizes = permute(stmt.sizes, layouts[stmt.name].order)


def permute(parts: tuple[L.Expr, ...], order: Order) -> tuple[L.Expr, ...]:
    """An index or shape permuted to an axis order."""
    return tuple(parts[axis] for axis in order)


def _copy(
    body: list[L.Stmt], name: str, layout: _Layout, params: Parameters, emitter: Emitter
) -> None:
    """Allocate the buffer that replaces a parameter, and copy an input in or an output back."""
    new, order, dtype = layout.name, layout.order, params.dtypes[name]
    is_out = name in params.outs
    first = next(i for i, s in enumerate(body) if accesses_buffer(s, new))
    # The parameter's own sizes: expressions equal to them are valid only after the run-time checks.
    sizes = tuple(L.Size(name, k) for k in range(len(params.sizes[name])))
    with emitter.into([]) as nest, emitter.nest(sizes) as index:
        there = permute(index, order)
        if is_out:
            emitter.add(L.Store(name, index, L.Load(new, there, dtype)))
        else:
            emitter.add(L.Store(new, there, L.Load(name, index, dtype)))
    before: list[L.Stmt] = [L.Alloc(new, dtype, permute(sizes, order))]
    if is_out:
        assert isinstance(body[-1], L.Return)
        body[-1:-1] = nest
    else:
        before += nest
    body[first:first] = before


def accesses_buffer(stmt: L.Stmt, buffer: str) -> bool:
    """True if a statement, nested blocks included, loads from or stores to a buffer."""
    return any(
        (isinstance(s, L.Store) and s.buffer == buffer)
        or any(
            isinstance(p, L.Load) and p.buffer == buffer
            for e in L.exprs_of(s)
            for i in _scalars(e)
            for p in L.walk_expr(i)
        )
        for s in L.walk([stmt])
    )
