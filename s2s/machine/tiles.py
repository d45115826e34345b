"""What products of matrices by tiles are written with (`machine.blocked`, `machine.scattered`).

A tile of some rows and vectors of columns stays in registers while products are added up; then it
is kept, all of it or the part that lies within the result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir

from . import kinds as types
from . import writing
from .advice import note
from .writing import INT, declared

# Numba gives instructions without flags one by which sums may be taken in another order.
FLAGS = ("contract",)


class Tiles:
    """Of one type of numbers, in a module."""

    def __init__(self, module: Any, dtype: Any, vector_bytes: int) -> None:
        self.module = module
        self.number = ir.FloatType() if dtype == types.float32 else ir.DoubleType()
        self.item = 4 if dtype == types.float32 else 8
        self.lanes = vector_bytes // self.item
        self.vectors = 2  # across a tile
        self.columns = self.vectors * self.lanes
        self.vector = ir.VectorType(self.number, self.lanes)
        self.pointer = self.number.as_pointer()
        self.suffix = "f32" if self.item == 4 else "f64"

    # ---- pieces

    def _at(self, builder: Any, base: Any, steps: list[tuple[Any, Any]]) -> Any:
        offset: Any = INT(0)
        for index, stride in steps:
            offset = builder.add(offset, builder.mul(index, stride))
        return builder.gep(base, [offset])

    @contextlib.contextmanager
    def _each(self, builder: Any, count: Any) -> Iterator[Any]:
        """A loop that the optimiser is to leave as it is."""
        before = builder.block
        head, inside, after = (builder.append_basic_block() for _ in range(3))
        builder.branch(head)
        builder.position_at_end(head)
        i = builder.phi(INT)
        i.add_incoming(INT(0), before)
        builder.cbranch(builder.icmp_signed("<", i, count), inside, after)
        builder.position_at_end(inside)
        yield i
        i.add_incoming(builder.add(i, INT(1)), builder.block)
        told = [("vectorize.width", 1), ("interleave.count", 1), ("unroll.disable", None)]
        builder.branch(head).set_metadata("llvm.loop", note(self.module, told))
        builder.position_at_end(after)

    def _load(self, builder: Any, base: Any, half: int) -> Any:
        place = builder.gep(base, [INT(half * self.lanes)])
        return builder.load(builder.bitcast(place, self.vector.as_pointer()), align=self.item)

    def _store(self, builder: Any, value: Any, base: Any, half: int) -> None:
        place = builder.gep(base, [INT(half * self.lanes)])
        builder.store(value, builder.bitcast(place, self.vector.as_pointer()), align=self.item)

    def _phi(self, builder: Any, value: Any, block: Any) -> Any:
        phi = builder.phi(self.vector)
        phi.add_incoming(value, block)
        return phi

    def _spread(self, builder: Any, number: Any, vector: Any = None) -> Any:
        vector = vector or self.vector
        undefined = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(undefined, number, ir.IntType(32)(0))
        return self._elements(builder, one, [0] * vector.count)

    def _fused(self, builder: Any, x: Any, y: Any, more: Any) -> Any:
        """x * y + more, in one step where the machine has it; of numbers or of vectors."""
        lanes = f"v{x.type.count}" if isinstance(x.type, ir.VectorType) else ""
        kind = ir.FunctionType(x.type, [x.type] * 3)
        add = declared(self.module, kind, f"llvm.fmuladd.{lanes}{self.suffix}")
        return builder.call(add, [x, y, more], fastmath=FLAGS)

    def _elements(self, builder: Any, vector: Any, order: Sequence[int]) -> Any:
        kind = ir.VectorType(ir.IntType(32), len(order))
        return builder.shuffle_vector(vector, vector, ir.Constant(kind, list(order)))

    # ---- sums

    def _line(self, builder: Any, place: Any, goal: Any, vectors: int) -> list[Any]:
        """The vectors of a line of columns, which are left at `goal`, if there is one."""
        halves = [self._load(builder, place, half) for half in range(vectors)]
        if goal is not None:
            for half, value in enumerate(halves):
                self._store(builder, value, goal, half)
        return halves

    def _accumulate(
        self,
        builder: Any,
        depth: Any,
        starts: list[Any],
        along: Callable[[Any], Any],
        line: Callable[[Any], Any],
        begin: list[list[Any]] | None = None,
        first: int = 0,
        copy: Any = None,
    ) -> list[list[Any]]:
        """The sums of a tile, from `begin` or 0 on, which has the `first` products.  Product p is
        of what lies `along(p)` from the start of each row with the vectors at `line(p)`, which are
        left one after the other at `copy`, if that is asked for."""
        zero = ir.Constant(self.vector, [0.0] * self.lanes)
        begin = begin or [[zero] * self.vectors for _ in starts]
        before = builder.block
        head, done = builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_signed(">", depth, INT(first)), head, done)
        builder.position_at_end(head)
        p = builder.phi(INT)
        p.add_incoming(INT(first), before)
        phis = [[self._phi(builder, s, before) for s in row] for row in begin]
        place, far = line(p), along(p)
        goal = None if copy is None else self._at(builder, copy, [(p, INT(self.columns))])
        halves = self._line(builder, place, goal, len(begin[0]))
        sums = []
        for start, row in zip(starts, phis):
            x = self._spread(builder, builder.load(builder.gep(start, [far])))
            sums.append([self._fused(builder, x, y, s) for y, s in zip(halves, row)])
        for row, new in zip(phis, sums):
            for phi, value in zip(row, new):
                phi.add_incoming(value, head)
        after = builder.add(p, INT(1))
        p.add_incoming(after, head)
        back = builder.cbranch(builder.icmp_signed("<", after, depth), head, done)
        # Of two rounds at once the operands would not fit into the registers.
        back.set_metadata("llvm.loop", note(self.module, [("unroll.disable", None)]))
        builder.position_at_end(done)
        ends = [[self._phi(builder, s, before) for s in row] for row in begin]
        for row, new in zip(ends, sums):
            for phi, value in zip(row, new):
                phi.add_incoming(value, head)
        return ends

    # ---- what is kept
    # `how`: what sums are multiplied by, whether that is all (`fresh`), and what is there is
    # multiplied by before they are added if it is not.

    def _kept(self, builder: Any, value: Any, place: Any, how: Any) -> None:
        alpha, fresh, factor = how
        if isinstance(value.type, ir.VectorType):
            alpha, factor = (self._spread(builder, x, value.type) for x in (alpha, factor))
        new = builder.fmul(alpha, value, flags=FLAGS)
        there = builder.fmul(builder.load(place, align=self.item), factor, flags=FLAGS)
        more = self._fused(builder, alpha, value, there)
        builder.store(builder.select(fresh, new, more), place, align=self.item)

    def _keep_whole(self, builder: Any, sums: list[list[Any]], c: Any, down: Any, how: Any) -> None:
        """The same for a whole tile, without multiplying by one."""
        alpha, fresh, factor = how
        one = ir.Constant(self.number, 1.0)
        scale, there = (self._spread(builder, x) for x in (alpha, factor))

        def each(kept: Callable[[Any, Any], Any], read: bool) -> None:
            for i, row in enumerate(sums):
                line = builder.gep(c, [builder.mul(INT(i), down)])
                for half, value in enumerate(row):
                    before = self._load(builder, line, half) if read else None
                    self._store(builder, kept(value, before), line, half)

        with builder.if_else(fresh) as (new, old):
            with new:
                with builder.if_else(builder.fcmp_ordered("==", alpha, one)) as (plain, other):
                    with plain:
                        each(lambda value, _: value, False)
                    with other:
                        each(lambda value, _: builder.fmul(scale, value, flags=FLAGS), False)
            with old:
                with builder.if_else(builder.fcmp_ordered("==", factor, one)) as (plain, other):
                    with plain:
                        each(lambda value, c: self._fused(builder, scale, value, c), True)
                    with other:
                        each(
                            lambda value, c: self._fused(
                                builder, scale, value, builder.fmul(c, there, flags=FLAGS)
                            ),
                            True,
                        )

    def _keep_columns(
        self, builder: Any, sums: list[list[Any]], c: Any, down: Any, columns: Any, how: Any
    ) -> None:
        """Some columns of all rows, in pieces: a vector, half of one, and so on."""
        lines = [builder.gep(c, [builder.mul(INT(i), down)]) for i in range(len(sums))]
        left, size = [row[0] for row in sums], self.lanes
        while size:
            wanted = builder.icmp_signed("!=", builder.and_(columns, INT(size)), INT(0))
            at = builder.and_(columns, INT(-2 * size))
            with builder.if_then(wanted):
                for line, vector in zip(lines, left):
                    piece = self._elements(builder, vector, range(size))
                    place = builder.gep(line, [at])
                    place = builder.bitcast(place, piece.type.as_pointer())
                    self._kept(builder, piece, place, how)
            order = [*range(size, self.lanes), *range(size)]
            rest = [
                row[-1] if size == self.lanes else self._elements(builder, vector, order)
                for row, vector in zip(sums, left)
            ]
            left = [builder.select(wanted, new, old) for new, old in zip(rest, left)]
            size //= 2

    def _keep_part(
        self, builder: Any, sums: list[list[Any]], c: Any, down: Any, rows: Any, columns: Any,
        how: Any,
    ) -> None:  # fmt: skip
        """By way of a whole tile elsewhere."""
        room = writing.room(builder, self.vector, self.vectors * len(sums))
        tile = builder.bitcast(room, self.pointer)
        for i, row in enumerate(sums):
            line = builder.gep(tile, [INT(i * self.columns)])
            for half, value in enumerate(row):
                self._store(builder, value, line, half)
        with self._each(builder, rows) as i:
            with self._each(builder, columns) as j:
                value = builder.load(self._at(builder, tile, [(i, INT(self.columns)), (j, INT(1))]))
                place = self._at(builder, c, [(i, down), (j, INT(1))])
                self._kept(builder, value, place, how)
