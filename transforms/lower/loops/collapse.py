"""Loop collapsing: merge a short innermost loop with the loop around it, on loop-level IR.

    for i in range(n):                      b_rows = np.empty((m * 3,), np.float64)
        for j in range(m):                  for j in range(m):
            for k in range(3):                  for k in range(3):
                y[i, j, k] = x[i, j, k] + b[k]      b_rows[j * 3 + k] = b[k]
                                            x_rows = x.reshape((n, m * 3))
                                            y_rows = y.reshape((n, m * 3))
                                            for i in range(n):
                                                for j in range(m * 3):
                                                    y_rows[i, j] = x_rows[i, j] + b_rows[j]

A loop of few iterations, as over the channels of an image, is too short for vectors.  Contiguous
elements continue from one such loop to the next, so a single loop runs over a reshaped view.  A
vector along the short axis alone is repeated, once per iteration of the outer loop.  A sum into
such a vector accumulates into a repeated vector, which is reduced after the loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ...ir.record import field, record, replace
from ..analysis.alias import MayAlias
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L

# The maximal number of iterations of a short loop.  Longer loops fill vectors by themselves.
MAX_SHORT_TRIPS = 32

Sizes = dict[str, tuple[L.Expr, ...]]


def collapse_loops(
    body: list[L.Stmt], sizes: Sizes, may_alias: MayAlias, new_name: Callable[[str], str]
) -> None:
    """Rewrite `body` in place.  `sizes` are those of the C-contiguous parameters."""
    bound = Counter(name for s in L.walk(body) for name in defs(s))
    known = {name: its for name, its in sizes.items() if not bound[name]}
    views: dict[tuple[str, int], str] = {}
    out: list[L.Stmt] = []
    for stmt in body:
        if isinstance(stmt, (L.Alloc, L.View)) and bound[stmt.name] == 1:
            known[stmt.name] = stmt.sizes
        if isinstance(stmt, L.Loop):
            nest = _Nest(stmt, known, may_alias, new_name, views)
            nest.collapse()
            out += [*nest.before, stmt, *nest.after]
        else:
            out.append(stmt)
    body[:] = out


@record(frozen=True)
class _Location:
    """The location of an element that a pair of loops accesses.

    With `axis`: in a row of a buffer whose axes from `axis` on are collapsed, `shift` iterations of
    the outer loop ahead.  Without: in a vector along the short loop.
    """

    axis: int | None = None
    shift: int = 0


@record
class _Pair:
    """Two loops to collapse: `inner` is short and is all of the body of `outer`."""

    outer: L.Loop
    inner: L.Loop

    @property
    def count(self) -> int:
        assert isinstance(self.inner.stop, L.Lit)
        return self.inner.stop.value

    @property
    def length(self) -> L.Expr:
        return L.mul(self.outer.stop, self.inner.stop)

    @property
    def padded_length(self) -> L.Expr:
        """The size of a buffer for all iterations, not negative even if the loops never run."""
        return L.mul(L.clamp_to_zero(self.outer.stop), self.inner.stop)

    @property
    def variables(self) -> set[str]:
        return {self.outer.var, self.inner.var}


@record
class _Nest:
    """A top-level loop nest.  `before` and `after` are statements to insert around it, `views` the
    reshaped views by buffer and axis."""

    root: L.Loop
    sizes: Sizes
    may_alias: MayAlias
    new_name: Callable[[str], str]
    views: dict[tuple[str, int], str]
    before: list[L.Stmt] = field(default_factory=list)
    after: list[L.Stmt] = field(default_factory=list)

    def collapse(self) -> None:
        self.bound = {name for s in L.walk([self.root]) for name in defs(s)}
        self.accesses = [a for s in L.walk([self.root]) for a in _accesses(s)]
        for loop in list(L.walk(self.root.body)):
            pair = self._pair(loop)
            if pair is not None:
                locations = self._locations(pair)
                if locations is not None:
                    self._rewrite(pair, locations)

    # ---- finding

    def _pair(self, loop: L.Stmt) -> _Pair | None:
        if not isinstance(loop, L.Loop):
            return None
        inside = [s for s in loop.body if not isinstance(s, L.Comment)]
        if len(inside) != 1 or not isinstance(inner := inside[0], L.Loop):
            return None
        if not all(L.is_lit(x.start, 0) and L.is_lit(x.step, 1) for x in (loop, inner)):
            return None
        if not isinstance(inner.stop, L.Lit) or not 2 <= inner.stop.value <= MAX_SHORT_TRIPS:
            return None
        if not L.is_simple(loop.stop) or names_in([loop.stop]) & self.bound:
            return None
        if not all(isinstance(s, (L.Let, L.Store, L.Comment)) for s in inner.body):
            return None
        return _Pair(loop, inner)

    def _locations(self, pair: _Pair) -> dict[tuple[str, L.Index], _Location] | None:
        """Return the locations of all elements that depend on the pair's variables.

        Return None if the pair cannot be collapsed.
        """
        locations: dict[tuple[str, L.Index], _Location] = {}
        for stmt in pair.inner.body:
            for buffer, index, how in _accesses(stmt):
                if not names_in(index) & pair.variables:
                    continue
                location = self._location(pair, buffer, index)
                if location is None or (
                    location.axis is None and not self._is_replicable(buffer, how)
                ):
                    return None
                locations[buffer, index] = location
        return (
            locations if locations and not self._uses_variables_elsewhere(pair, locations) else None
        )

    def _location(self, pair: _Pair, buffer: str, index: L.Index) -> _Location | None:
        sizes = self.sizes.get(buffer)
        if sizes is None or index[-1] != L.Name(pair.inner.var) or sizes[-1] != pair.inner.stop:
            return None
        *lead, _ = index
        varying = [axis for axis, e in enumerate(lead) if names_in([e]) & pair.variables]
        if not varying:
            return _Location() if not lead else None
        axis, *more = varying
        shift = L.constant_offset(index[axis], pair.outer.var)
        if more or shift is None or not all(L.is_lit(n, 1) for n in sizes[axis + 1 : -1]):
            return None
        return _Location(axis, shift)

    def _is_replicable(self, buffer: str, how: str) -> bool:
        """True if a vector is only read in the nest, or only added to by a single statement."""
        others = [
            kind for b, _, kind in self.accesses if b == buffer or self.may_alias(b, buffer)
        ]  # fmt: skip
        if how == "load":
            return all(kind == "load" for kind in others)
        return how == "add" and len(others) == 1

    def _uses_variables_elsewhere(
        self, pair: _Pair, locations: dict[tuple[str, L.Index], _Location]
    ) -> bool:
        """True if a variable of the pair is used anywhere but in the indices of these elements."""

        def known(e: L.Expr) -> L.Expr | None:
            is_located = isinstance(e, L.Load) and (e.buffer, e.index) in locations
            return L.ZERO if is_located else None

        for stmt in pair.inner.body:
            tops = list(L.exprs_of(stmt))
            if isinstance(stmt, L.Store) and (stmt.buffer, stmt.index) in locations:
                tops = [stmt.expr]
            if names_in([L.map_expr(e, known) for e in tops]) & pair.variables:
                return True
        return False

    # ---- rewriting

    def _rewrite(self, pair: _Pair, locations: dict[tuple[str, L.Index], _Location]) -> None:
        vectors: dict[str, str] = {}

        def moved(buffer: str, index: L.Index) -> tuple[str, L.Index] | None:
            location = locations.get((buffer, index))
            if location is None:
                return None
            at: L.Expr = L.Name(pair.outer.var)
            if location.axis is None:
                return vectors[buffer], (at,)
            at = L.add(at, L.lit(location.shift * pair.count))
            return self._row_view(buffer, location.axis), (*index[: location.axis], at)

        def load(e: L.Expr) -> L.Expr | None:
            new = moved(e.buffer, e.index) if isinstance(e, L.Load) else None
            return (
                replace(e, buffer=new[0], index=new[1]) if new and isinstance(e, L.Load) else None
            )

        for stmt in pair.inner.body:
            for e in L.exprs_of(stmt):
                for part in L.walk_expr(e):
                    if (
                        isinstance(part, L.Load)
                        and locations.get((part.buffer, part.index)) == _Location()
                    ):
                        if part.buffer not in vectors:
                            vectors[part.buffer] = self._repeat_vector(pair, part)
            if (
                isinstance(stmt, L.Store)
                and locations.get((stmt.buffer, stmt.index)) == _Location()
            ):
                vectors[stmt.buffer] = self._expand_sum(pair, stmt)
        L.map_stmts(pair.inner.body, load)
        for stmt in pair.inner.body:
            if isinstance(stmt, L.Store):
                new = moved(stmt.buffer, stmt.index)
                if new is not None:
                    stmt.buffer, stmt.index = new
        remarks = [s for s in pair.outer.body if isinstance(s, L.Comment)]
        pair.outer.stop = pair.length
        pair.outer.body[:] = [*remarks, *pair.inner.body]

    def _row_view(self, buffer: str, axis: int) -> str:
        """Return the name of a view of a buffer whose axes from `axis` on are collapsed."""
        key = buffer, axis
        if key not in self.views:
            sizes = [
                n if isinstance(n, L.Lit) else L.Size(buffer, a)
                for a, n in enumerate(self.sizes[buffer])
            ]
            name = self.views[key] = self.new_name(f"{buffer}_rows")
            shape = (*sizes[:axis], L.product(tuple(sizes[axis:])))
            self.before.append(L.View(name, buffer, shape))
        return self.views[key]

    def _repeat_vector(self, pair: _Pair, element: L.Load) -> str:
        """Return the name of a new vector that repeats the one that `element` is loaded from."""
        name, at = self.new_name(f"{element.buffer}_rows"), self._flat_index(pair)
        self.before.append(L.Alloc(name, element.dtype, (pair.padded_length,)))
        self.before.append(self._over_pair(pair, L.Store(name, (at,), element)))
        return name

    def _expand_sum(self, pair: _Pair, stmt: L.Store) -> str:
        """Return the name of a new vector of partial sums, which is added to the buffer of `stmt`
        after the nest."""
        name, dtype = self.new_name(f"{stmt.buffer}_rows"), stmt.expr.dtype
        self.before.append(L.Alloc(name, dtype, (pair.padded_length,)))
        zero = L.Store(name, (L.Name(pair.outer.var),), L.Lit(0, dtype))
        self.before.append(L.Loop(pair.outer.var, L.ZERO, pair.length, L.ONE, [zero]))
        total = L.Store(
            stmt.buffer, stmt.index, L.Load(name, (self._flat_index(pair),), dtype), add=True
        )
        self.after.append(self._over_pair(pair, total))
        return name

    def _flat_index(self, pair: _Pair) -> L.Expr:
        return L.add(L.mul(L.Name(pair.outer.var), pair.inner.stop), L.Name(pair.inner.var))

    def _over_pair(self, pair: _Pair, stmt: L.Stmt) -> L.Stmt:
        inner = L.Loop(pair.inner.var, L.ZERO, pair.inner.stop, L.ONE, [stmt])
        return L.Loop(pair.outer.var, L.ZERO, pair.outer.stop, L.ONE, [inner])


def _accesses(stmt: L.Stmt) -> list[tuple[str, L.Index, str]]:
    """Return buffer, index, and "load", "store" or "add" of each element that a statement itself
    accesses.  A buffer that is an argument of a call counts as "store"."""
    found: list[tuple[str, L.Index, str]] = []
    for e in L.exprs_of(stmt):
        if isinstance(e, L.Subview):
            found.append((e.buffer, e.index, "store"))
            continue
        for part in L.walk_expr(e):
            if isinstance(part, L.Load):
                found.append((part.buffer, part.index, "load"))
    if isinstance(stmt, L.Store):
        found.append((stmt.buffer, stmt.index, "add" if stmt.add else "store"))
    return found
