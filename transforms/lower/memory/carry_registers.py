"""Scalar replacement across iterations: carry array elements in registers, on loop-level IR.

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

If an iteration accumulates to an element that the next one reads, the next one has the latency of
a store and a load.  LLVM would have to prove that the rows are disjoint to keep the element in a
register.  Reverse sweeps over tables whose elements depend on their neighbours are such loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...ir.lazy import lazy_property
from ...ir.record import field, record
from ..analysis.alias import MayAlias
from ..analysis.analyses import FunctionAnalyses
from ..analysis.bounds import split_constant
from ..analysis.cost_model import trip_count
from ..analysis.liveness import defs, names_in
from ..analysis.single_assignment import fixed_integers, resolve
from ..loop_ir import nodes as L

# The most elements carried by a loop: more do not fit into registers beside its other values.
MAX_CARRIED = 6
FLOATS = ("float32", "float64")

# Identifies a row: for each axis the base and the constant offset of the index; None for the axis
# along the row.
Row = tuple[tuple[L.Expr, int] | None, ...]
Index = tuple[L.Expr, ...]


@record
class _Window:
    """The elements of a row that one iteration accesses, as offsets from the induction variable.

    `seen` are the offsets of all accesses, `written` those of the stores.  `index` is the index of
    one of the accesses, `axis` the axis along the row.
    """

    buffer: str
    index: Index
    axis: int
    seen: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)

    def place(self, induction: L.Expr, at: int) -> Index:
        """The index of the element at offset `at` when the induction variable is `induction`."""
        along = L.add(induction, L.lit(at))
        return (*self.index[: self.axis], along, *self.index[self.axis + 1 :])

    def oldest_first(self, step: int) -> list[int]:
        """The offsets in the order in which iterations leave the elements behind.

        The first one is not accessed by any later iteration.
        """
        return sorted(self.seen, reverse=step < 0)

    def carries_value(self, step: int) -> bool:
        """True if the offsets are contiguous and the next iteration accesses a written element."""
        _, *others = self.oldest_first(step)
        in_a_row = max(self.seen) - min(self.seen) < len(self.seen)
        return in_a_row and any(at in self.written for at in others)


def carry_in_registers(
    body: list[L.Stmt],
    params: list[str],
    owned: dict[str, str],
    may_alias: MayAlias,
    new_name: Callable[[str], str],
) -> None:
    """Rewrite `body` in place.

    `owned` are the dtypes of the contiguous array parameters: no two of their elements share an
    address.
    """
    _RegisterCarrier(body, params, owned, may_alias, new_name).block(body)


class _RegisterCarrier(FunctionAnalyses):
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

    @lazy_property
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
        """The statements that replace a loop; the loop itself if nothing is carried."""
        step = next((k for k in (1, -1) if L.is_lit(loop.step, k)), None)
        if loop.parallel or step is None:
            return [loop]
        if not all(isinstance(s, (L.Let, L.Store, L.Comment)) for s in loop.body):
            return [loop]
        bound = {loop.var} | {name for s in loop.body for name in defs(s)}
        if names_in([loop.start, loop.stop]) & bound or _loads(L.subexprs_read(loop)):
            return [loop]
        windows = [w for w in self._windows(loop, bound) if w.carries_value(step)]
        while sum(len(w.seen) for w in windows) > MAX_CARRIED:
            windows.pop()
        return self._rewrite_loop(loop, step, windows) if windows else [loop]

    # ---- analysis

    def _windows(self, loop: L.Loop, bound: set[str]) -> Iterator[_Window]:
        """The windows of the buffers that a loop accumulates to."""
        accesses: dict[str, list[tuple[Index, bool]]] = {}
        for s in loop.body:
            for load in _loads(L.subexprs_read(s)):
                accesses.setdefault(load.buffer, []).append((load.index, False))
            if isinstance(s, L.Store):
                accesses.setdefault(s.buffer, []).append((s.index, True))
        for buffer, its in accesses.items():
            if not any(writes for _, writes in its) or not self._has_exact_stores(buffer, loop):
                continue
            if any(other != buffer and self.may_alias(buffer, other) for other in accesses):
                continue
            rows = self._rows(loop.var, buffer, its, bound)
            # LLVM keeps elements that are only set, not accumulated to, in registers itself, and
            # does it better.
            if any(s.add for s in _stores(buffer, loop)):
                yield from rows

    def _has_exact_stores(self, buffer: str, loop: L.Loop) -> bool:
        """True if a loop stores only floats of the buffer's own dtype, so no store converts."""
        dtype = self.dtypes.get(buffer)
        return dtype in FLOATS and all(s.expr.dtype == dtype for s in _stores(buffer, loop))

    def _rows(
        self, var: str, buffer: str, accesses: list[tuple[Index, bool]], bound: set[str]
    ) -> list[_Window]:
        """The windows of a buffer, one for each row.

        Empty if the rows are not provably disjoint, or if an index has another form.
        """
        rows: dict[Row, _Window] = {}
        for index, writes in accesses:
            found = self._row(index, var)
            if found is None:
                return []
            row, axis, at = found
            if any(part and names_in([part[0]]) & bound for part in row):
                return []
            resolved = tuple(resolve(e, self.integers) for e in index)
            window = rows.setdefault(row, _Window(buffer, resolved, axis))
            window.seen.add(at)
            if writes:
                window.written.add(at)
        disjoint = all(_are_disjoint(a, b) for a in rows for b in rows if a is not b)
        return [*rows.values()] if disjoint else []

    def _row(self, index: Index, var: str) -> tuple[Row, int, int] | None:
        """The row of an element, the axis along it, and its offset from the induction variable."""
        parts = [self._parts(e) for e in index]
        along = [k for k, (base, _) in enumerate(parts) if var in names_in([base])]
        if len(along) != 1 or _loads(p for e in index for p in L.walk_expr(e)):
            return None
        (axis,) = along
        base, at = parts[axis]
        row = tuple(None if k == axis else part for k, part in enumerate(parts))
        return (row, axis, at) if base == L.Name(var) else None

    def _parts(self, e: L.Expr) -> tuple[L.Expr, int]:
        """The base expression of an index and its constant offset."""
        base, more = split_constant(resolve(e, self.integers))
        return (L.ZERO, more + base.value) if isinstance(base, L.Lit) else (base, more)

    # ---- rewriting

    def _rewrite_loop(self, loop: L.Loop, step: int, windows: list[_Window]) -> list[L.Stmt]:
        """The loop with the elements of the windows in scalars.

        Before the loop, all elements of the first iteration but the newest are loaded.  Each
        iteration loads the newest element, stores the oldest, and shifts the scalars by one.  After
        the loop, the remaining elements are stored.
        """
        before: list[L.Stmt] = []
        first: list[L.Stmt] = []
        last: list[L.Stmt] = []
        after: list[L.Stmt] = []
        carried: dict[tuple[str, Row, int], L.Name] = {}
        induction = L.Name(loop.var)
        for w in windows:
            dtype, offsets = self.dtypes[w.buffer], w.oldest_first(step)
            names = {at: L.Name(self.new_name("near"), dtype) for at in offsets}
            found = self._row(w.index, loop.var)
            assert found is not None
            carried |= {(w.buffer, found[0], at): name for at, name in names.items()}
            *others, newest = offsets
            for at in others:
                load = L.Load(w.buffer, w.place(loop.start, at), dtype)
                before.append(L.Let(names[at].name, load))
                after.append(L.Store(w.buffer, w.place(loop.stop, at), names[at]))
            load = L.Load(w.buffer, w.place(induction, newest), dtype)
            first.append(L.Let(names[newest].name, load))
            last.append(L.Store(w.buffer, w.place(induction, offsets[0]), names[offsets[0]]))
            last += [L.Let(names[a].name, names[b]) for a, b in zip(offsets, offsets[1:])]
        body = [self._use_scalars(s, loop.var, carried) for s in loop.body]
        loop.body = [*first, *body, *last]
        whole: list[L.Stmt] = [*before, loop, *after]
        some = L.compare(">", trip_count(loop), L.ZERO)
        return whole if L.is_lit(some, True) else [L.If(some, whole)]

    def _use_scalars(
        self, stmt: L.Stmt, var: str, carried: dict[tuple[str, Row, int], L.Name]
    ) -> L.Stmt:
        """A statement with loads and stores of carried elements replaced by scalars."""
        buffers = {buffer for buffer, _, _ in carried}

        def name_of(buffer: str, index: Index) -> L.Name | None:
            found = self._row(index, var) if buffer in buffers else None
            return None if found is None else carried.get((buffer, found[0], found[2]))

        def new(e: L.Expr) -> L.Expr | None:
            return name_of(e.buffer, e.index) if isinstance(e, L.Load) else None

        L.map_stmt(stmt, new)
        name = name_of(stmt.buffer, stmt.index) if isinstance(stmt, L.Store) else None
        if name is None:
            return stmt
        assert isinstance(stmt, L.Store)
        total = L.Bin("+", name, stmt.expr, name.dtype) if stmt.add else stmt.expr
        return L.Let(name.name, total)


def _are_disjoint(a: Row, b: Row) -> bool:
    """True if two rows along the same axis are provably disjoint."""
    if [part is None for part in a] != [part is None for part in b]:
        return False
    return any(p[0] == q[0] and p[1] != q[1] for p, q in zip(a, b) if p and q)


def _stores(buffer: str, loop: L.Loop) -> list[L.Store]:
    return [s for s in loop.body if isinstance(s, L.Store) and s.buffer == buffer]


def _loads(parts: Iterable[L.Expr]) -> list[L.Load]:
    return [p for p in parts if isinstance(p, L.Load)]
