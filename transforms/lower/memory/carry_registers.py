"""Elements of a row that the next round comes to as well stay in variables, on loop-level IR.

                                            if m > 0:
    for j in range(m - 1, -1, -1):              w1 = x[i, m]
        t = x[i, j + 1]                         for j in range(m - 1, -1, -1):
        x[i, j + 1] = 0.0                           w0 = x[i, j]
        x[i, j] += t * a[j]             →           t = w1
        x[i - 1, j] += t                            w1 = 0.0
                                                    w0 = w0 + t * a[j]
                                                    x[i - 1, j] += t
                                                    x[i, j + 1] = w1
                                                    w1 = w0
                                                x[i, 0] = w1

A round that adds to what the next one reads keeps that one waiting until it is in memory: LLVM
would have to know that rows lie apart.  The sweeps of tables whose elements follow from their
neighbours are such loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...ir.lazy import lazy
from ...ir.record import field, record
from ..analysis.alias import MayAlias
from ..analysis.analyses import Overview
from ..analysis.bounds import apart
from ..analysis.cost_model import trips
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import fixed_integers, resolve
from ..loop_ir import nodes as L

# More variables than this do not fit into registers, beside all else.
VARIABLES = 6
FLOATS = ("float32", "float64")

# What the other indices of a row are, each as what it is made of and a number; None along the row.
Row = tuple[tuple[L.Expr, int] | None, ...]
Index = tuple[L.Expr, ...]


@record
class _Window:
    """The elements of a row that a round comes to, as they lie from the place that its loop counts,
    and those that are written.  `index` is that of one of them, `axis` the one along the row."""

    buffer: str
    index: Index
    axis: int
    seen: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)

    def place(self, counted: L.Expr, at: int) -> Index:
        along = L.add(counted, L.lit(at))
        return (*self.index[: self.axis], along, *self.index[self.axis + 1 :])

    def in_time(self, step: int) -> list[int]:
        """The elements, the one that no later round comes to first."""
        return sorted(self.seen, reverse=step < 0)

    def hands_on(self, step: int) -> bool:
        """Whether what is written is come to in the next round."""
        _, *others = self.in_time(step)
        in_a_row = max(self.seen) - min(self.seen) < len(self.seen)
        return in_a_row and any(at in self.written for at in others)


def carry_in_registers(
    body: list[L.Stmt],
    params: list[str],
    owned: dict[str, str],
    may_alias: MayAlias,
    new_name: Callable[[str], str],
) -> None:
    """Rewrites `body` in place.  `owned` are the dtypes of parameters whose elements each have a
    place of their own in memory."""
    _Keeper(body, params, owned, may_alias, new_name).block(body)


class _Keeper(Overview):
    def __init__(
        self,
        body: list[L.Stmt],
        params: list[str],
        owned: dict[str, str],
        may_alias: MayAlias,
        new_name: Callable[[str], str],
    ) -> None:
        super().__init__(body, owned, may_alias)
        self.params, self.new_name = params, new_name

    @lazy
    def integers(self) -> dict[str, L.Expr]:
        return fixed_integers(self.body, self.params)

    def block(self, block: list[L.Stmt]) -> None:
        out: list[L.Stmt] = []
        for stmt in block:
            for inner in L.blocks_of(stmt):
                self.block(inner)
            out += self._loop(stmt) if isinstance(stmt, L.Loop) else [stmt]
        block[:] = out

    def _loop(self, loop: L.Loop) -> list[L.Stmt]:
        """The loop, or what takes its place."""
        step = next((k for k in (1, -1) if L.is_lit(loop.step, k)), None)
        if loop.parallel or step is None:
            return [loop]
        if not all(isinstance(s, (L.Let, L.Store, L.Comment)) for s in loop.body):
            return [loop]
        bound = {loop.var} | {name for s in loop.body for name in defs(s)}
        if names_in([loop.start, loop.stop]) & bound or _loads(L.parts_read(loop)):
            return [loop]
        windows = [w for w in self._windows(loop, bound) if w.hands_on(step)]
        while sum(len(w.seen) for w in windows) > VARIABLES:
            windows.pop()
        return self._written(loop, step, windows) if windows else [loop]

    # ---- which elements

    def _windows(self, loop: L.Loop, bound: set[str]) -> Iterator[_Window]:
        """The rows that a loop writes to."""
        accesses: dict[str, list[tuple[Index, bool]]] = {}
        for s in loop.body:
            for load in _loads(L.parts_read(s)):
                accesses.setdefault(load.buffer, []).append((load.index, False))
            if isinstance(s, L.Store):
                accesses.setdefault(s.buffer, []).append((s.index, True))
        for buffer, its in accesses.items():
            if not any(writes for _, writes in its) or not self._fits(buffer, loop):
                continue
            if any(other != buffer and self.may_alias(buffer, other) for other in accesses):
                continue
            rows = self._rows(loop.var, buffer, its, bound)
            # What rounds set and do not add to, LLVM keeps in registers itself, and better.
            if any(s.add for s in _puts(buffer, loop)):
                yield from rows

    def _fits(self, buffer: str, loop: L.Loop) -> bool:
        """Whether what is written to a buffer is as it will be read from there."""
        dtype = self.dtypes.get(buffer)
        return dtype in FLOATS and all(s.expr.dtype == dtype for s in _puts(buffer, loop))

    def _rows(
        self, var: str, buffer: str, accesses: list[tuple[Index, bool]], bound: set[str]
    ) -> list[_Window]:
        """Those of a buffer; none if it cannot be told that they are different ones, or which
        elements they are."""
        rows: dict[Row, _Window] = {}
        for index, writes in accesses:
            found = self._row(index, var)
            if found is None:
                return []
            row, axis, at = found
            if any(part and names_in([part[0]]) & bound for part in row):
                return []
            spelt = tuple(resolve(e, self.integers) for e in index)
            window = rows.setdefault(row, _Window(buffer, spelt, axis))
            window.seen.add(at)
            if writes:
                window.written.add(at)
        apart = all(_lie_apart(a, b) for a in rows for b in rows if a is not b)
        return [*rows.values()] if apart else []

    def _row(self, index: Index, var: str) -> tuple[Row, int, int] | None:
        """The row of an element, the axis along it, and where it lies from the counted place."""
        parts = [self._parts(e) for e in index]
        along = [k for k, (base, _) in enumerate(parts) if var in names_in([base])]
        if len(along) != 1 or _loads(p for e in index for p in L.walk_expr(e)):
            return None
        (axis,) = along
        base, at = parts[axis]
        row = tuple(None if k == axis else part for k, part in enumerate(parts))
        return (row, axis, at) if base == L.Name(var) else None

    def _parts(self, e: L.Expr) -> tuple[L.Expr, int]:
        """What an index is made of, and the number that is added to it."""
        base, more = apart(resolve(e, self.integers))
        return (L.ZERO, more + base.value) if isinstance(base, L.Lit) else (base, more)

    # ---- the loop

    def _written(self, loop: L.Loop, step: int, windows: list[_Window]) -> list[L.Stmt]:
        before: list[L.Stmt] = []
        first: list[L.Stmt] = []
        last: list[L.Stmt] = []
        after: list[L.Stmt] = []
        kept: dict[tuple[str, Row, int], L.Name] = {}
        counted = L.Name(loop.var)
        for w in windows:
            dtype, times = self.dtypes[w.buffer], w.in_time(step)
            names = {at: L.Name(self.new_name("near"), dtype) for at in times}
            found = self._row(w.index, loop.var)
            assert found is not None
            kept |= {(w.buffer, found[0], at): name for at, name in names.items()}
            *others, new = times
            for at in others:
                load = L.Load(w.buffer, w.place(loop.start, at), dtype)
                before.append(L.Let(names[at].name, load))
                after.append(L.Store(w.buffer, w.place(loop.stop, at), names[at]))
            load = L.Load(w.buffer, w.place(counted, new), dtype)
            first.append(L.Let(names[new].name, load))
            last.append(L.Store(w.buffer, w.place(counted, times[0]), names[times[0]]))
            last += [L.Let(names[a].name, names[b]) for a, b in zip(times, times[1:])]
        body = [self._in_variables(s, loop.var, kept) for s in loop.body]
        loop.body = [*first, *body, *last]
        whole: list[L.Stmt] = [*before, loop, *after]
        some = L.compare(">", trips(loop), L.ZERO)
        return whole if L.is_lit(some, True) else [L.If(some, whole)]

    def _in_variables(
        self, stmt: L.Stmt, var: str, kept: dict[tuple[str, Row, int], L.Name]
    ) -> L.Stmt:
        buffers = {buffer for buffer, _, _ in kept}

        def name_of(buffer: str, index: Index) -> L.Name | None:
            found = self._row(index, var) if buffer in buffers else None
            return None if found is None else kept.get((buffer, found[0], found[2]))

        def new(e: L.Expr) -> L.Expr | None:
            return name_of(e.buffer, e.index) if isinstance(e, L.Load) else None

        L.map_stmt(stmt, new)
        name = name_of(stmt.buffer, stmt.index) if isinstance(stmt, L.Store) else None
        if name is None:
            return stmt
        assert isinstance(stmt, L.Store)
        total = L.Bin("+", name, stmt.expr, name.dtype) if stmt.add else stmt.expr
        return L.Let(name.name, total)


def _lie_apart(a: Row, b: Row) -> bool:
    """Whether two rows are certainly different ones of the same axis."""
    if [part is None for part in a] != [part is None for part in b]:
        return False
    return any(p[0] == q[0] and p[1] != q[1] for p, q in zip(a, b) if p and q)


def _puts(buffer: str, loop: L.Loop) -> list[L.Store]:
    return [s for s in loop.body if isinstance(s, L.Store) and s.buffer == buffer]


def _loads(parts: Iterable[L.Expr]) -> list[L.Load]:
    return [p for p in parts if isinstance(p, L.Load)]
