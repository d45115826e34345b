"""Chooses the order in which the axes of a buffer lie in memory, on loop-level IR.

    for j in range(m):                      a_turned = np.empty((n, m), np.float64)
        for k in range(n):                  for i in range(m):
            for i in range(m):                  for j in range(n):
                c[j, i] += a[i, k]                  a_turned[j, i] = a[i, j]
                                            for j in range(m):
                                                for k in range(n):
                                                    for i in range(m):
                                                        c[j, i] += a_turned[k, i]

Every access votes for the order in which the loops around it run along the axes, as often as it is
made.  A buffer that the function makes for itself has the elected order wherever it is used: places
get other names, and what is computed, and in which order, stays.  A parameter that is only read is
copied once, and one that takes a result is written once, in the end, if that costs less than it
spares.
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

# What is taken for the number of rounds of a loop, or the size of an axis, that is not known.
MANY = 32
# An axis that the program takes apart by hand has at least so many places.
SHORT = 4
# A buffer of so few elements is left as it is.
SMALL = 64
# Another axis becomes the last if it has so many times as many votes.
CLEAR = 2
# A copy must spare so many accesses to each element.
WORTH = 4

Order = tuple[int, ...]
Path = tuple[L.Loop | L.While, ...]


@record
class Access:
    """`kind` is "load", "store" or "add"."""

    index: L.Index
    around: Path
    kind: str

    @property
    def times(self) -> int:
        return 2 if self.kind == "add" else 1  # what is added to is read, too


@record
class Uses:
    """All that happens to a buffer variable."""

    allocs: list[L.Alloc] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)  # to buffers of other variables, or they to its
    written: bool = False
    whole: bool = False  # used in ways that depend on its layout


@record
class _Turn:
    """What a buffer is called, and which of its axes come first, when all is done."""

    name: str
    order: Order


def choose_layout(
    body: list[L.Stmt], params: Parameters, may_alias: MayAlias, emitter: Emitter
) -> None:
    """Rewrites `body` in place."""
    uses = survey(body)
    poll = Poll(body, {**params.sizes, **sizes_of(uses)}, uses)
    turns: dict[str, _Turn] = {}
    for names in _classes(uses):
        order = _for_own([uses[name] for name in names], poll)
        if order is not None and not any(name in params.dtypes for name in names):
            turns.update((name, _Turn(name, order)) for name in names)
    copies = {}
    for name in params.dtypes:
        order = _for_parameter(name, params, uses, may_alias, poll)
        if order is not None:
            turns[name] = copies[name] = _Turn(emitter.new_name(f"{name}_turned"), order)
    if turns:
        _rename(body, turns)
    for name, place in copies.items():
        _copy(body, name, place, params, emitter)


# ---------------------------------------------------------------- what happens


def survey(body: list[L.Stmt]) -> dict[str, Uses]:
    uses: dict[str, Uses] = {}

    def of(name: str) -> Uses:
        return uses.setdefault(name, Uses())

    def look(block: list[L.Stmt], around: Path) -> None:
        for stmt in block:
            for e in L.exprs_of(stmt):
                if isinstance(e, L.Part):
                    of(e.buffer).whole = True
                    of(e.buffer).written |= _may_write(stmt, e)
                for part in (p for i in _scalars(e) for p in L.walk_expr(i)):
                    if isinstance(part, L.Load):
                        of(part.buffer).accesses.append(Access(part.index, around, "load"))
            if isinstance(stmt, L.Alloc):
                of(stmt.name).allocs.append(stmt)
            elif isinstance(stmt, L.Store):
                access = Access(stmt.index, around, "add" if stmt.add else "store")
                of(stmt.buffer).accesses.append(access)
                of(stmt.buffer).written = True
            elif isinstance(stmt, L.View):
                of(stmt.name).whole = of(stmt.buffer).whole = True
            elif isinstance(stmt, L.Rebind):
                of(stmt.name).bound.add(stmt.other)
                of(stmt.other).bound.add(stmt.name)
            elif isinstance(stmt, (L.CallBuffers, L.CallRoutine)):
                for name in stmt.names:
                    of(name).whole = True
            for inner in L.blocks_of(stmt):
                look(inner, (*around, stmt) if isinstance(stmt, (L.Loop, L.While)) else around)

    look(body, ())
    return uses


def _scalars(e: L.Expr | L.Part) -> tuple[L.Expr, ...]:
    return e.index if isinstance(e, L.Part) else (e,)


def _may_write(stmt: L.Stmt, e: L.Part) -> bool:
    if isinstance(stmt, L.Call) and stmt.function in L.PRODUCTS:
        return stmt.args[-1] is e
    return not isinstance(stmt, (L.Return, L.Print))


def _classes(uses: dict[str, Uses]) -> Iterable[list[str]]:
    """Variables that are bound to each other's buffers have one layout."""
    seen: set[str] = set()
    for name in uses:
        names = [name] if name not in seen else []
        for one in names:
            names += sorted(uses[one].bound - {*names})
        seen.update(names)
        if names:
            yield names


# ---------------------------------------------------------------- choosing


def _for_own(uses: list[Uses], poll: Poll) -> Order | None:
    """The order of axes for buffers that the function makes for itself."""
    sizes = [alloc.sizes for use in uses for alloc in use.allocs]
    if not sizes or len(sizes[0]) < 2 or any(use.whole for use in uses):
        return None
    return _elected(poll.votes(a for use in uses for a in use.accesses), sizes[0])


def _for_parameter(
    name: str, params: Parameters, uses: dict[str, Uses], may_alias: MayAlias, poll: Poll
) -> Order | None:
    """The order of axes for what stands in for a parameter."""
    use, sizes = uses.get(name), params.sizes[name]
    if use is None or not use.accesses or len(sizes) < 2:
        return None
    if use.allocs or use.bound or name in params.escaping:
        return None
    order = _elected(poll.votes(use.accesses), sizes)
    if order is None:
        return None
    others = [other for b, other in uses.items() if b != name and may_alias(name, b)]
    if name in params.outs:
        if use.whole or others:
            return None
    elif use.written or any(other.written or other.bound for other in others):
        return None
    # Of an array that is read in one corner only, most would be copied for nothing.
    votes = poll.votes(a for a in use.accesses if poll.is_all_over(a))
    spared = _for_last(votes, order[-1]) - _for_last(votes, len(sizes) - 1)
    elements = math.prod(map(poll.length, sizes))
    return order if spared >= WORTH * elements else None


class Poll:
    """Finds the order in which loops run along the axes of buffers, and how often."""

    def __init__(
        self, body: list[L.Stmt], sizes: dict[str, tuple[L.Expr, ...]], uses: dict[str, Uses]
    ) -> None:
        self.known = single_definitions(list(L.walk(body)))
        self.short = _short(sizes, uses)

    def votes(self, accesses: Iterable[Access]) -> Counter[Order]:
        votes: Counter[Order] = Counter()
        for access in accesses:
            order = self.order(access)
            if order is not None:
                votes[order] += access.times * self.rounds(access)
        return votes

    def rounds(self, access: Access) -> int:
        """How often it is made, roughly."""
        return math.prod(map(self._rounds, access.around))

    def length(self, size: L.Expr) -> int:
        """Of an axis, roughly."""
        return max(size.value, 0) if isinstance(size, L.Lit) else self.short.get(size, MANY)

    def _rounds(self, loop: L.Loop | L.While) -> int:
        if isinstance(loop, L.While) or not isinstance(loop.step, L.Lit) or not loop.step.value:
            return MANY
        return self.length(L.sub(loop.stop, loop.start)) // abs(loop.step.value)

    def order(self, access: Access) -> Order | None:
        """The axes, outermost loop first, if the innermost runs along one and no other."""
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

    def is_all_over(self, access: Access) -> bool:
        """Whether along each axis runs a loop of its own over the size of some array."""
        loops = {loop.var: loop for loop in access.around if isinstance(loop, L.Loop)}
        free = set(loops)
        for e in access.index:
            names = self._terms([e])
            along = {v for v in free if v in names and self._over_size(loops[v], loops)}
            if not along:
                return False
            free.remove(min(along))
        return True

    def _over_size(self, loop: L.Loop, loops: dict[str, L.Loop]) -> bool:
        """Whether its bounds depend on one, perhaps by way of the loops around it."""
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
        """Names and sizes that they are computed from."""
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


def _elected(votes: Counter[Order], sizes: tuple[L.Expr, ...]) -> Order | None:
    """The order to be, if its last axis is another than now."""
    rank, size = len(sizes), L.product(sizes)
    if isinstance(size, L.Lit) and size.value <= SMALL:
        return None
    last = max(range(rank), key=lambda axis: (_for_last(votes, axis), axis))
    if all(L.is_lit(size, 1) for size in sizes[last + 1 :]):
        return None
    if _for_last(votes, last) <= CLEAR * _for_last(votes, rank - 1):
        return None
    return max((n, order) for order, n in votes.items() if order[-1] == last)[1]


def _for_last(votes: Counter[Order], axis: int) -> int:
    return sum(n for order, n in votes.items() if order[-1] == axis)


def sizes_of(uses: dict[str, Uses]) -> dict[str, tuple[L.Expr, ...]]:
    return {name: use.allocs[0].sizes for name, use in uses.items() if use.allocs}


def _short(sizes: dict[str, tuple[L.Expr, ...]], uses: dict[str, Uses]) -> dict[L.Expr, int]:
    """Lengths of the axes along which the program names one place after the other, as it does
    with coordinates."""
    named: dict[L.Expr, set[int]] = {}
    for name, use in uses.items():
        for access in use.accesses:
            for e, size in zip(access.index, sizes.get(name, ())):
                if isinstance(e, L.Lit) and isinstance(size, L.Size):
                    named.setdefault(size, set()).add(e.value)
    return {
        size: max(len(places), SHORT)
        for size, places in named.items()
        if len(places) > 1 and places == {*range(len(places))}
    }


def _runs_along(e: L.Expr, var: str) -> bool:
    """It is the variable and something added that does not depend on it, or taken from that."""
    if isinstance(e, L.Bin) and e.op in "+-":
        return _runs_along(e.left, var) != _runs_along(e.right, var)
    return e == L.Name(var)


# ---------------------------------------------------------------- doing it


def _rename(body: list[L.Stmt], turns: dict[str, _Turn]) -> None:
    """Elements get the places that they have with axes in another order."""

    def renamed(e: L.Expr) -> L.Expr | None:
        turn = turns.get(e.buffer) if isinstance(e, (L.Load, L.Size)) else None
        if turn is None:
            return None
        if isinstance(e, L.Load):
            index = tuple(L.map_expr(i, renamed) for i in e.index)
            return replace(e, buffer=turn.name, index=moved(index, turn.order))
        assert isinstance(e, L.Size)
        # A parameter keeps its own.
        return replace(e, axis=turn.order.index(e.axis)) if turn.name == e.buffer else None

    L.map_stmts(body, renamed)
    for stmt in L.walk(body):
        if isinstance(stmt, L.Store) and stmt.buffer in turns:
            turn = turns[stmt.buffer]
            stmt.buffer, stmt.index = turn.name, moved(stmt.index, turn.order)
        elif isinstance(stmt, L.Alloc) and stmt.name in turns:
            stmt.sizes = moved(stmt.sizes, turns[stmt.name].order)


def moved(parts: tuple[L.Expr, ...], order: Order) -> tuple[L.Expr, ...]:
    return tuple(parts[axis] for axis in order)


def _copy(body: list[L.Stmt], name: str, turn: _Turn, params: Parameters, emitter: Emitter) -> None:
    """Fills the buffer that stands in for a parameter, or the parameter from it."""
    new, order, dtype = turn.name, turn.order, params.dtypes[name]
    is_out = name in params.outs
    first = next(i for i, s in enumerate(body) if touches(s, new))
    # Its own sizes: others are equal only once the program has checked them.
    sizes = tuple(L.Size(name, k) for k in range(len(params.sizes[name])))
    with emitter.into([]) as nest, emitter.nest(sizes) as index:
        there = moved(index, order)
        if is_out:
            emitter.add(L.Store(name, index, L.Load(new, there, dtype)))
        else:
            emitter.add(L.Store(new, there, L.Load(name, index, dtype)))
    before: list[L.Stmt] = [L.Alloc(new, dtype, moved(sizes, order))]
    if is_out:
        assert isinstance(body[-1], L.Return)
        body[-1:-1] = nest
    else:
        before += nest
    body[first:first] = before


def touches(stmt: L.Stmt, buffer: str) -> bool:
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
