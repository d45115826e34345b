"""What products of matrices by tiles are written with (`codegen.gemm.blocked`,
`codegen.gemm.indexed`).

A tile of some rows and vectors of columns stays in registers while products are added up; then it
is kept, all of it or the part that lies within the result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir

from .. import llvm_utils
from .. import value_types as types
from ..llvm_utils import INT, counting, declared
from ..loop_metadata import note

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

    @contextlib.contextmanager
    def _steps(self, builder: Any, stop: Any, step: Any) -> Iterator[tuple[Any, Any]]:
        """A loop over 0, step, … with how much is left there, `step` at most."""
        step = INT(step) if isinstance(step, int) else step
        rounds = builder.sdiv(builder.add(stop, builder.sub(step, INT(1))), step)
        with counting(builder, rounds) as loop:
            at = builder.mul(loop, step)
            left = builder.sub(stop, at)
            whole = builder.icmp_signed(">", left, step)
            yield at, builder.select(whole, step, left)

    def _load(self, builder: Any, base: Any, half: int) -> Any:
        place = builder.gep(base, [INT(half * self.lanes)])
        return builder.load(builder.bitcast(place, self.vector.as_pointer()), align=self.item)

    def _store(self, builder: Any, value: Any, base: Any, half: int) -> None:
        place = builder.gep(base, [INT(half * self.lanes)])
        builder.store(value, builder.bitcast(place, self.vector.as_pointer()), align=self.item)

    def _phi(self, builder: Any, value: Any, block: Any) -> Any:
        phi = builder.phi(value.type)
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

    def _line(self, builder: Any, place: Any, vectors: int, goal: Any = None) -> list[Any]:
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
        moving: list[tuple[Any, Any]],
        product: Callable[..., tuple[list[Any], list[Any]]],
        begin: list[list[Any]],
    ) -> list[list[Any]]:
        """The sums of a tile, from `begin` on.  `product` gives where a number of each row lies and
        the vectors that it is multiplied by, told where they are of what is `moving` on with every
        product: places, and how far."""
        before = builder.block
        head, done = builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_signed(">", depth, INT(0)), head, done)
        builder.position_at_end(head)
        left = builder.phi(INT)
        left.add_incoming(depth, before)
        places = [self._phi(builder, place, before) for place, _ in moving]
        phis = [[self._phi(builder, s, before) for s in row] for row in begin]
        numbers, halves = product(*places)
        sums = []
        for number, row in zip(numbers, phis):
            x = self._spread(builder, builder.load(number))
            sums.append([self._fused(builder, x, y, s) for y, s in zip(halves, row)])
        for phi, (_, step) in zip(places, moving):
            phi.add_incoming(builder.gep(phi, [step]), head)
        for row, new in zip(phis, sums):
            for phi, value in zip(row, new):
                phi.add_incoming(value, head)
        after = builder.sub(left, INT(1))
        left.add_incoming(after, head)
        back = builder.cbranch(builder.icmp_signed(">", after, INT(0)), head, done)
        # Of two rounds at once the operands would not fit into the registers.
        back.set_metadata("llvm.loop", note(self.module, [("unroll.disable", None)]))
        builder.position_at_end(done)
        ends = [[self._phi(builder, s, before) for s in row] for row in begin]
        for row, new in zip(ends, sums):
            for phi, value in zip(row, new):
                phi.add_incoming(value, head)
        return ends

    def _zeros(self, rows: int, vectors: int) -> list[list[Any]]:
        zero = ir.Constant(self.vector, [0.0] * self.lanes)
        return [[zero] * vectors for _ in range(rows)]

    # ---- what is kept
    # `how`: what sums are multiplied by, and whether that is all (`fresh`), or what is there is
    # added.

    def _kept(self, builder: Any, value: Any, place: Any, how: Any) -> None:
        alpha, fresh = how
        if isinstance(value.type, ir.VectorType):
            alpha = self._spread(builder, alpha, value.type)
        new = builder.fmul(alpha, value, flags=FLAGS)
        more = self._fused(builder, alpha, value, builder.load(place, align=self.item))
        builder.store(builder.select(fresh, new, more), place, align=self.item)

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
        room = llvm_utils.room(builder, self.vector, self.vectors * len(sums))
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
