"""Dense tape arrays: one element or row per iteration of the loops around a `Save`.

The array is allocated before the outermost loop.  So the trip counts of the loops and the sizes of
the value, or upper bounds of them, must be computable there.  A loop whose bounds depend on an
outer loop gets as many rows as its longest run has iterations.  A slice whose length varies
between iterations gets a row as long as the axis it is taken from.  An inner loop in which the
value is invariant gets no axis: all its iterations share one row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.builder import Builder, int_const, trip_count
from ..ir.nodes import (
    Array,
    Block,
    Const,
    For,
    ListOf,
    Operand,
    Pack,
    Record,
    Stmt,
    Var,
    symbolic_value,
)
from ..ir.record import record, replace
from ..ir.scopes import dims_of
from ..ir.symbolic_dims import Atom, Dim, slope
from .rematerialize import Rematerializer
from .slot_pair import Pair, Planner


@record(frozen=True)
class SlotPlan:
    """The storage of one tape slot.

    "dense": an array of shape `sizes + shape of the value`, allocated before the outermost
    loop of `loops`; `sizes` and `shape` are operands in scope there.  `Save` writes at index
    `save_at`, `restore` reads at index `restore_at`: one int operand per loop, in scope at the
    statement.  A value whose length along an axis varies between iterations occupies a prefix of
    the row: `ragged_axes` has the axis and the lengths at the `Save` and at the `restore`.

    "stack": last in, first out; `sizes`, `shape` and the indices are empty.

    `loops` are the labels of the loops around the `Save`, `restore_loops` those around the
    `restore`, outermost first, up to the block that holds both.  For a dense slot these are only
    the loops that have an axis of the array."""

    kind: str
    loops: tuple[str, ...]
    restore_loops: tuple[str, ...]
    sizes: tuple[Operand, ...] = ()
    shape: tuple[Operand, ...] = ()
    save_at: tuple[Operand, ...] = ()
    restore_at: tuple[Operand, ...] = ()
    ragged_axes: tuple[tuple[int, Operand, Operand], ...] = ()

    def operands(self) -> tuple[Operand, ...]:
        lengths = (n for _, *both in self.ragged_axes for n in both)
        return (*self.sizes, *self.shape, *self.save_at, *self.restore_at, *lengths)

    def substitute(self, f: Callable[[Operand], Operand]) -> SlotPlan:
        fields = ("sizes", "shape", "save_at", "restore_at")
        new = {k: tuple(map(f, getattr(self, k))) for k in fields}
        return replace(
            self, **new, ragged_axes=tuple((axis, f(a), f(b)) for axis, a, b in self.ragged_axes)
        )


class DensePlanner:
    """Plans dense arrays for the slots of one function."""

    def __init__(self, saver: Planner) -> None:
        self.saver = saver

    def plan(self, pair: Pair) -> SlotPlan | None:
        """The plan of a dense array; None if it cannot be allocated before the outermost loop."""
        loops = [(a, b) for a, b in pair.loops() if isinstance(a, For) and isinstance(b, For)]
        type_ = pair.slot.type
        if len(loops) < len(pair.loops()) or isinstance(type_, (ListOf, Record, Pack)):
            return None
        first = loops[0][0]
        b = Builder(self.saver.names, self.saver.facts)
        b.checks = False
        sizes: list[Operand] = []
        own: list[tuple[For, For]] = []  # the loops that have an axis of the array
        saved: tuple[Block, list[Operand]] = ([], [])
        restored: tuple[Block, list[Operand]] = ([], [])
        there: dict[str, Dim | int] = {}  # maps forward loop indices to those of the sweep
        for level, (ours, theirs) in enumerate(loops):
            if not self.same_index(ours, theirs, there):
                return None  # the iteration numbers would differ
            there[ours.index.name] = symbolic_value(theirs.index) or Dim.of(theirs.index.name)
            if level and self.saver.is_invariant(pair.value, ours):
                continue  # all iterations share one row
            trips = self.trip_count(b, ours, first)
            if trips is None:
                trips = self.max_trip_count(b, ours, [loop for loop, _ in loops[:level]], first)
            if trips is None:
                return None
            sizes.append(trips)
            own.append((ours, theirs))
            for loop, (block, at) in ((ours, saved), (theirs, restored)):
                with b.into(block):
                    at.append(position(b, loop))
        shape: list[Operand] = []
        cuts: list[tuple[int, Operand, Operand]] = []
        for axis, d in enumerate(type_.shape if isinstance(type_, Array) else ()):
            n = self.allocation_size(b, d, first)
            if n is None:
                cut = self.cut(b, pair, axis, d, there, (saved[0], restored[0]))
                if cut is None:
                    return None
                whole, here, again = cut
                n = self.allocation_size(b, whole, first)
                cuts.append((axis, here, again))
            if n is None:
                return None
            shape.append(n)
        before = self.saver.before
        for stmt, made in ((first, b.block), (pair.save, saved[0]), (pair.restore, restored[0])):
            before.setdefault(id(stmt), []).extend(made)
        return SlotPlan(
            "dense",
            tuple(ours.label for ours, _ in own),
            tuple(theirs.label for _, theirs in own),
            tuple(sizes),
            tuple(shape),
            tuple(saved[1]),
            tuple(restored[1]),
            tuple(cuts),
        )

    def same_index(self, ours: For, theirs: For, there: dict[str, Dim | int]) -> bool:
        """True if the mirrored loop has the same start and step as the forward loop, so that equal
        iterations have equal indices."""

        def same(a: Operand, b: Operand) -> bool:
            if self.forward_value(b) == a:
                return True
            x, y = symbolic_value(a), symbolic_value(b)
            return x is not None and y is not None and x.substitute(there) == y

        return same(ours.start, theirs.start) and same(ours.step, theirs.step)

    def trip_count(self, b: Builder, loop: For, first: Stmt) -> Operand | None:
        """The trip count of an inner loop; None if it is not computable before the outermost."""
        bounds = [self.hoisted(b, x, first) for x in (loop.start, loop.stop, loop.step)]
        count = None if loop.count is None else self.hoisted(b, loop.count, first)
        start, stop, step = bounds
        if start is None or step is None or (loop.count is None and stop is None):
            return None
        if loop.count is not None:
            return count
        return trip_count(b, start, stop, step)

    def max_trip_count(
        self, b: Builder, loop: For, around: list[For], first: Stmt
    ) -> Operand | None:
        """The maximum trip count of a loop whose bounds depend on one of the loops `around`."""
        step = loop.step.value if isinstance(loop.step, Const) else None
        start, stop = symbolic_value(loop.start), symbolic_value(loop.stop)
        if loop.count is not None or step not in (1, -1) or start is None or stop is None:
            return None
        most = (stop - start) * step
        inside = [o for o in around if o.index.name in most.symbols]
        if len(inside) != 1 or any(isinstance(s, Atom) for s in most.symbols):
            return None  # with more than two dependent loops, too much of the array would be unused
        (outer,) = inside
        sign, ends = slope(most, outer.index.name), _ends(outer)
        if sign is None or ends is None:
            return None
        n = self.size(b, most.substitute({outer.index.name: ends[sign > 0]}), first)
        return None if n is None else b.emit("maximum", n, int_const(0)).operand

    def cut(
        self,
        b: Builder,
        pair: Pair,
        axis: int,
        dim: Dim,
        there: dict[str, Dim | int],
        blocks: tuple[Block, Block],
    ) -> tuple[Dim, Operand, Operand] | None:
        """The capacity of a row for a value whose length along an axis varies between iterations,
        and the lengths at the `Save` and at the `restore`.  The capacity is the size of the axis
        of which the value is a slice, or the maximum length over all iterations."""
        atom = dim.terms[0][0][0] if dim.terms else None
        if not isinstance(atom, Atom) or atom.op != "len" or dim != Dim.of(atom):
            return self.cut_by_indices(b, pair, axis, dim, there, blocks)
        whole, start, stop, step = atom.parts
        assert whole is not None
        same_size = self.saver.axis_of_size(whole, "", pair.restore)
        if same_size is None or not (step is None or step == Dim.of(1)):
            return None
        array, of = same_size
        with b.into(blocks[0]):
            length = b.emit("shape", pair.save.value, axis=axis).operand
        with b.into(blocks[1]):
            given: list[Operand] = []
            positions: list[int | None] = []
            for bound in (start, stop):
                positions.append(None if bound is None else 1 + len(given))
                if bound is not None:
                    operand = self.size(b, bound.substitute(there), pair.restore)
                    if operand is None:
                        return None
                    given.append(operand)
            items: list[tuple[Any, ...]] = [("all",)] * len(dims_of(array))
            items[of] = ("slice", *positions, None)
            seen = b.emit("index", array, *given, items=tuple(items))
            again = b.emit("shape", seen, axis=of).operand
        return whole, length, again

    def cut_by_indices(
        self,
        b: Builder,
        pair: Pair,
        axis: int,
        dim: Dim,
        there: dict[str, Dim | int],
        blocks: tuple[Block, Block],
    ) -> tuple[Dim, Operand, Operand] | None:
        """As `cut`, for a length that is a function of loop indices."""
        whole = self.saver.facts.maximum(dim)
        if whole is None or whole == self.saver.facts.canonical(dim):
            return None
        with b.into(blocks[0]):
            length = b.emit("shape", pair.save.value, axis=axis).operand
        with b.into(blocks[1]):
            again = self.size(b, dim.substitute(there), pair.restore)
        return None if again is None else (whole, length, again)

    def hoisted(self, b: Builder, x: Operand, first: Stmt) -> Operand | None:
        """An operand equal to an int operand of an inner loop, in scope before the outermost
        loop; None if there is none."""

        def lookup(v: Var) -> Operand | None:
            return v if self.saver.precedes(v.name, first) else None

        found = x if isinstance(x, Const) else lookup(x)
        value = symbolic_value(x)
        if found is None and value is not None:
            found = self.size(b, value, first)
        if found is None:
            maker = Rematerializer(
                self.saver.definitions, self.saver.names, lookup, lambda v: True, safe=True
            )
            found = maker.rebuild(x)
            if found is not None:
                b.block += maker.block
        return found

    def forward_value(self, x: Operand) -> Operand:
        """The forward value that `x` restores; otherwise `x` itself."""
        return self.saver.original.get(x.name, x) if isinstance(x, Var) else x

    def allocation_size(self, b: Builder, dim: Dim, first: Stmt) -> Operand | None:
        """A size for the allocation, clamped to 0 where it could be negative.  The array is
        allocated even if no iteration computes the value."""
        n = self.size(b, dim, first)
        if n is None or dim.is_size or self.saver.axis_of_size(dim, "", first) is not None:
            return n
        return b.emit("maximum", n, int_const(0)).operand

    def size(self, b: Builder, dim: Dim, first: Stmt) -> Operand | None:
        """An operand equal to a dim, computed from values in scope before the statement `first`;
        None if that is not possible."""
        dim = self.saver.facts.canonical(dim)
        if dim.is_const:
            return int_const(dim.const)
        for v in self.saver.scopes.var.values():
            value = symbolic_value(v)
            if value is not None and self.saver.facts.canonical(value) == dim:
                if self.saver.precedes(v.name, first):
                    return v
        same_size = self.saver.axis_of_size(dim, "", first)
        if same_size is not None:
            return b.emit("shape", same_size[0], axis=same_size[1]).operand
        symbol = next(iter(dim.terms))[0][0]
        if dim == Dim.of(symbol):
            return self.atom_size(b, symbol, first) if isinstance(symbol, Atom) else None
        total = b.sym(int_const(dim.const)) if dim.const else None
        for monomial, k in dim.terms:
            term = b.sym(int_const(k)) if k != 1 else None
            for s in monomial:
                part = self.size(b, Dim.of(s), first)
                if part is None:
                    return None
                term = b.sym(part) if term is None else term * part
            total = term if total is None or term is None else total + term
        return None if total is None else total.operand

    def atom_size(self, b: Builder, atom: Atom, first: Stmt) -> Operand | None:
        """As `size`, for a dim that is not a polynomial."""
        if atom.op not in ("max0", "floordiv", "remainder"):
            return None
        parts = [None if d is None else self.size(b, d, first) for d in atom.parts]
        if None in parts:
            return None
        if atom.op == "max0":
            return b.emit("maximum", parts[0], int_const(0)).operand
        name = "floor_divide" if atom.op == "floordiv" else "remainder"
        return b.emit(name, *parts).operand


def _ends(loop: For) -> tuple[Dim, Dim] | None:
    """The minimum and maximum index of a nonempty loop with step 1 or -1; None for other steps."""
    start, stop = symbolic_value(loop.start), symbolic_value(loop.stop)
    step = _known_step(loop)
    if start is None or stop is None or step not in (1, -1):
        return None
    return (start, stop - 1) if step == 1 else (stop + 1, start)


def _known_step(loop: For) -> int | None:
    return loop.step.value if isinstance(loop.step, Const) else None


def position(b: Builder, loop: For) -> Operand:
    """The iteration number of a loop, computed from its index."""
    position, step = b.sym(loop.index), _known_step(loop)
    if step == -1:
        return (b.sym(loop.start) - position).operand
    if loop.start != int_const(0):
        position = position - loop.start
    if step != 1:
        position = b.emit("floor_divide", position, loop.step)
    return position.operand
