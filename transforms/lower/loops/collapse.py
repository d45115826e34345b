"""Short innermost loops join the loop around them, on loop-level IR.

    for i in range(n):                      b_rows = np.empty((m * 3,), np.float64)
        for j in range(m):                  for j in range(m):
            for k in range(3):                  for k in range(3):
                y[i, j, k] = x[i, j, k] + b[k]      b_rows[j * 3 + k] = b[k]
                                            x_rows = x.reshape((n, m * 3))
                                            y_rows = y.reshape((n, m * 3))
                                            for i in range(n):
                                                for j in range(m * 3):
                                                    y_rows[i, j] = x_rows[i, j] + b_rows[j]

A loop of few rounds, as over the channels of an image, is too short for vectors.  Elements that
follow each other in memory go on from one such loop to the next; what has the short axis alone is
written down as often as there are rounds, and what is summed over the others is summed up last.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ...ir.record import field, record, replace
from ..analysis.alias import MayAlias
from ..analysis.liveness import defs, names_in
from ..loop_ir import nodes as L

# Longer loops fill vectors by themselves.
SHORT = 32

Sizes = dict[str, tuple[L.Expr, ...]]


def collapse_loops(
    body: list[L.Stmt], sizes: Sizes, may_alias: MayAlias, new_name: Callable[[str], str]
) -> None:
    """Rewrites `body` in place.  `sizes` are those of parameters in C order."""
    bound = Counter(name for s in L.walk(body) for name in defs(s))
    known = {name: its for name, its in sizes.items() if not bound[name]}
    joined: dict[tuple[str, int], str] = {}
    out: list[L.Stmt] = []
    for stmt in body:
        if isinstance(stmt, (L.Alloc, L.View)) and bound[stmt.name] == 1:
            known[stmt.name] = stmt.sizes
        if isinstance(stmt, L.Loop):
            nest = _Nest(stmt, known, may_alias, new_name, joined)
            nest.join()
            out += [*nest.before, stmt, *nest.after]
        else:
            out.append(stmt)
    body[:] = out


@record(frozen=True)
class _Place:
    """Where an element of a pair of loops lies: in a row of a buffer, from axis `axis` on, `shift`
    rounds of the outer loop later; or, without `axis`, in a vector along the short loop."""

    axis: int | None = None
    shift: int = 0


@record
class _Pair:
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
    def places(self) -> L.Expr:
        """For what is made once, even if the loops never run."""
        return L.mul(L.at_least_none(self.outer.stop), self.inner.stop)

    @property
    def variables(self) -> set[str]:
        return {self.outer.var, self.inner.var}


@record
class _Nest:
    root: L.Loop
    sizes: Sizes
    may_alias: MayAlias
    new_name: Callable[[str], str]
    joined: dict[tuple[str, int], str]
    before: list[L.Stmt] = field(default_factory=list)
    after: list[L.Stmt] = field(default_factory=list)

    def join(self) -> None:
        self.bound = {name for s in L.walk([self.root]) for name in defs(s)}
        self.accesses = [a for s in L.walk([self.root]) for a in _accesses(s)]
        for loop in list(L.walk(self.root.body)):
            pair = self._pair(loop)
            if pair is not None:
                places = self._places(pair)
                if places is not None:
                    self._rewrite(pair, places)

    # ---- finding

    def _pair(self, loop: L.Stmt) -> _Pair | None:
        if not isinstance(loop, L.Loop):
            return None
        inside = [s for s in loop.body if not isinstance(s, L.Comment)]
        if len(inside) != 1 or not isinstance(inner := inside[0], L.Loop):
            return None
        if not all(L.is_lit(x.start, 0) and L.is_lit(x.step, 1) for x in (loop, inner)):
            return None
        if not isinstance(inner.stop, L.Lit) or not 2 <= inner.stop.value <= SHORT:
            return None
        if not L.is_simple(loop.stop) or names_in([loop.stop]) & self.bound:
            return None
        if not all(isinstance(s, (L.Let, L.Store, L.Comment)) for s in inner.body):
            return None
        return _Pair(loop, inner)

    def _places(self, pair: _Pair) -> dict[tuple[str, L.Index], _Place] | None:
        """Of all elements that depend on the pair's variables; None if they cannot be joined."""
        places: dict[tuple[str, L.Index], _Place] = {}
        for stmt in pair.inner.body:
            for buffer, index, how in _accesses(stmt):
                if not names_in(index) & pair.variables:
                    continue
                place = self._place(pair, buffer, index)
                if place is None or (place.axis is None and not self._alone(buffer, how)):
                    return None
                places[buffer, index] = place
        return places if places and not self._counts(pair, places) else None

    def _place(self, pair: _Pair, buffer: str, index: L.Index) -> _Place | None:
        sizes = self.sizes.get(buffer)
        if sizes is None or index[-1] != L.Name(pair.inner.var) or sizes[-1] != pair.inner.stop:
            return None
        *lead, _ = index
        along = [axis for axis, e in enumerate(lead) if names_in([e]) & pair.variables]
        if not along:
            return _Place() if not lead else None
        axis, *more = along
        shift = L.offset(index[axis], pair.outer.var)
        if more or shift is None or not all(L.is_lit(n, 1) for n in sizes[axis + 1 : -1]):
            return None
        return _Place(axis, shift)

    def _alone(self, buffer: str, how: str) -> bool:
        """Whether a vector is only read in the nest, or only added to at one place."""
        others = [
            kind for b, _, kind in self.accesses if b == buffer or self.may_alias(b, buffer)
        ]  # fmt: skip
        if how == "load":
            return all(kind == "load" for kind in others)
        return how == "add" and len(others) == 1

    def _counts(self, pair: _Pair, places: dict[tuple[str, L.Index], _Place]) -> bool:
        """Whether a variable of the pair stands anywhere but in these places."""

        def known(e: L.Expr) -> L.Expr | None:
            held = isinstance(e, L.Load) and (e.buffer, e.index) in places
            return L.ZERO if held else None

        for stmt in pair.inner.body:
            tops = list(L.exprs_of(stmt))
            if isinstance(stmt, L.Store) and (stmt.buffer, stmt.index) in places:
                tops = [stmt.expr]
            if names_in([L.map_expr(e, known) for e in tops]) & pair.variables:
                return True
        return False

    # ---- rewriting

    def _rewrite(self, pair: _Pair, places: dict[tuple[str, L.Index], _Place]) -> None:
        vectors: dict[str, str] = {}

        def moved(buffer: str, index: L.Index) -> tuple[str, L.Index] | None:
            place = places.get((buffer, index))
            if place is None:
                return None
            at: L.Expr = L.Name(pair.outer.var)
            if place.axis is None:
                return vectors[buffer], (at,)
            at = L.add(at, L.lit(place.shift * pair.count))
            return self._in_rows(buffer, place.axis), (*index[: place.axis], at)

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
                        and places.get((part.buffer, part.index)) == _Place()
                    ):
                        if part.buffer not in vectors:
                            vectors[part.buffer] = self._repeated(pair, part)
            if isinstance(stmt, L.Store) and places.get((stmt.buffer, stmt.index)) == _Place():
                vectors[stmt.buffer] = self._summed(pair, stmt)
        L.map_stmts(pair.inner.body, load)
        for stmt in pair.inner.body:
            if isinstance(stmt, L.Store):
                new = moved(stmt.buffer, stmt.index)
                if new is not None:
                    stmt.buffer, stmt.index = new
        remarks = [s for s in pair.outer.body if isinstance(s, L.Comment)]
        pair.outer.stop = pair.length
        pair.outer.body[:] = [*remarks, *pair.inner.body]

    def _in_rows(self, buffer: str, axis: int) -> str:
        """The same memory, with axes from `axis` on made one."""
        key = buffer, axis
        if key not in self.joined:
            sizes = [
                n if isinstance(n, L.Lit) else L.Size(buffer, a)
                for a, n in enumerate(self.sizes[buffer])
            ]
            name = self.joined[key] = self.new_name(f"{buffer}_rows")
            shape = (*sizes[:axis], L.product(tuple(sizes[axis:])))
            self.before.append(L.View(name, buffer, shape))
        return self.joined[key]

    def _repeated(self, pair: _Pair, element: L.Load) -> str:
        name, at = self.new_name(f"{element.buffer}_rows"), self._at(pair)
        self.before.append(L.Alloc(name, element.dtype, (pair.places,)))
        self.before.append(self._loops(pair, L.Store(name, (at,), element)))
        return name

    def _summed(self, pair: _Pair, stmt: L.Store) -> str:
        name, dtype = self.new_name(f"{stmt.buffer}_rows"), stmt.expr.dtype
        self.before.append(L.Alloc(name, dtype, (pair.places,)))
        zero = L.Store(name, (L.Name(pair.outer.var),), L.Lit(0, dtype))
        self.before.append(L.Loop(pair.outer.var, L.ZERO, pair.length, L.ONE, [zero]))
        total = L.Store(stmt.buffer, stmt.index, L.Load(name, (self._at(pair),), dtype), add=True)
        self.after.append(self._loops(pair, total))
        return name

    def _at(self, pair: _Pair) -> L.Expr:
        return L.add(L.mul(L.Name(pair.outer.var), pair.inner.stop), L.Name(pair.inner.var))

    def _loops(self, pair: _Pair, stmt: L.Stmt) -> L.Stmt:
        inner = L.Loop(pair.inner.var, L.ZERO, pair.inner.stop, L.ONE, [stmt])
        return L.Loop(pair.outer.var, L.ZERO, pair.outer.stop, L.ONE, [inner])


def _accesses(stmt: L.Stmt) -> list[tuple[str, L.Index, str]]:
    """Buffer, index, and "load", "store" or "add", of the elements a statement itself touches; of
    a whole buffer that it is given, "store"."""
    found: list[tuple[str, L.Index, str]] = []
    for e in L.exprs_of(stmt):
        if isinstance(e, L.Part):
            found.append((e.buffer, e.index, "store"))
            continue
        for part in L.walk_expr(e):
            if isinstance(part, L.Load):
                found.append((part.buffer, part.index, "load"))
    if isinstance(stmt, L.Store):
        found.append((stmt.buffer, stmt.index, "add" if stmt.add else "store"))
    return found
