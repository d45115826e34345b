"""Register tiles for matrix products (`gemm/blocked.py`, `gemm/indexed.py`).

A tile of some rows and some vectors of columns stays in registers while products are accumulated.
Then it is stored, all of it or the part that lies within the result.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir

from .. import llvm_utils
from .. import value_types as types
from ..llvm_utils import INT, counted_loop, declare_function
from ..loop_metadata import loop_metadata_node

# Numba gives instructions without flags the flag reassoc, which would change the order of sums.
FLAGS = ("contract",)


class Tiles:
    """Emitter for tiles of one dtype, in a module."""

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

    # ---- building blocks

    def _at(self, builder: Any, base: Any, steps: list[tuple[Any, Any]]) -> Any:
        """The address at the sum of index * stride."""
        offset: Any = INT(0)
        for index, stride in steps:
            offset = builder.add(offset, builder.mul(index, stride))
        return builder.gep(base, [offset])

    @contextlib.contextmanager
    def _plain_loop(self, builder: Any, count: Any) -> Iterator[Any]:
        """A loop that LLVM neither vectorises nor unrolls."""
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
        hints = [("vectorize.width", 1), ("interleave.count", 1), ("unroll.disable", None)]
        builder.branch(head).set_metadata("llvm.loop", loop_metadata_node(self.module, hints))
        builder.position_at_end(after)

    @contextlib.contextmanager
    def _strips(self, builder: Any, stop: Any, step: Any) -> Iterator[tuple[Any, Any]]:
        """A strip-mined loop: yields the start of each strip and its length, at most `step`."""
        step = INT(step) if isinstance(step, int) else step
        trips = builder.sdiv(builder.add(stop, builder.sub(step, INT(1))), step)
        with counted_loop(builder, trips) as loop:
            at = builder.mul(loop, step)
            left = builder.sub(stop, at)
            whole = builder.icmp_signed(">", left, step)
            yield at, builder.select(whole, step, left)

    def _load(self, builder: Any, base: Any, half: int) -> Any:
        """Load vector number `half` of a row."""
        place = builder.gep(base, [INT(half * self.lanes)])
        return builder.load(builder.bitcast(place, self.vector.as_pointer()), align=self.item)

    def _store(self, builder: Any, value: Any, base: Any, half: int) -> None:
        place = builder.gep(base, [INT(half * self.lanes)])
        builder.store(value, builder.bitcast(place, self.vector.as_pointer()), align=self.item)

    def _phi(self, builder: Any, value: Any, block: Any) -> Any:
        """A phi with its first incoming value."""
        phi = builder.phi(value.type)
        phi.add_incoming(value, block)
        return phi

    def _broadcast(self, builder: Any, number: Any, vector: Any = None) -> Any:
        """Broadcast a scalar to a vector."""
        vector = vector or self.vector
        undefined = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(undefined, number, ir.IntType(32)(0))
        return self._elements(builder, one, [0] * vector.count)

    def _fused(self, builder: Any, x: Any, y: Any, more: Any) -> Any:
        """x * y + more of scalars or vectors, fused where the target has FMA."""
        lanes = f"v{x.type.count}" if isinstance(x.type, ir.VectorType) else ""
        kind = ir.FunctionType(x.type, [x.type] * 3)
        add = declare_function(self.module, kind, f"llvm.fmuladd.{lanes}{self.suffix}")
        return builder.call(add, [x, y, more], fastmath=FLAGS)

    def _elements(self, builder: Any, vector: Any, order: Sequence[int]) -> Any:
        """Permute or extract elements of a vector."""
        kind = ir.VectorType(ir.IntType(32), len(order))
        return builder.shuffle_vector(vector, vector, ir.Constant(kind, list(order)))

    # ---- accumulation

    def _load_row(self, builder: Any, place: Any, vectors: int, goal: Any = None) -> list[Any]:
        """Load the vectors of a row of `b`; copy them to `goal`, if given."""
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
        """Accumulate `depth` outer products onto the tile `begin`.  `moving` are pairs (pointer,
        step); the pointers advance by their steps in each iteration.  `product`, called with the
        pointers, returns the addresses of the scalars, one for each row, and the vectors that they
        are multiplied by."""
        before = builder.block
        head, done = builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_signed(">", depth, INT(0)), head, done)
        builder.position_at_end(head)
        left = builder.phi(INT)
        left.add_incoming(depth, before)
        pointers = [self._phi(builder, pointer, before) for pointer, _ in moving]
        phis = [[self._phi(builder, s, before) for s in row] for row in begin]
        scalars, halves = product(*pointers)
        sums = []
        for scalar, row in zip(scalars, phis):
            x = self._broadcast(builder, builder.load(scalar))
            sums.append([self._fused(builder, x, y, s) for y, s in zip(halves, row)])
        for phi, (_, step) in zip(pointers, moving):
            phi.add_incoming(builder.gep(phi, [step]), head)
        for row, new in zip(phis, sums):
            for phi, value in zip(row, new):
                phi.add_incoming(value, head)
        after = builder.sub(left, INT(1))
        left.add_incoming(after, head)
        back = builder.cbranch(builder.icmp_signed(">", after, INT(0)), head, done)
        # With two iterations unrolled, the operands would exceed the registers.
        back.set_metadata("llvm.loop", loop_metadata_node(self.module, [("unroll.disable", None)]))
        builder.position_at_end(done)
        ends = [[self._phi(builder, s, before) for s in row] for row in begin]
        for row, new in zip(ends, sums):
            for phi, value in zip(row, new):
                phi.add_incoming(value, head)
        return ends

    def _zeros(self, rows: int, vectors: int) -> list[list[Any]]:
        zero = ir.Constant(self.vector, [0.0] * self.lanes)
        return [[zero] * vectors for _ in range(rows)]

    # ---- storing tiles
    # `how` is (alpha, fresh): sums are multiplied by alpha, and added to the old value unless
    # `fresh`.

    def _store_sums(self, builder: Any, value: Any, place: Any, how: Any) -> None:
        """Store one scalar or vector of sums."""
        alpha, fresh = how
        if isinstance(value.type, ir.VectorType):
            alpha = self._broadcast(builder, alpha, value.type)
        new = builder.fmul(alpha, value, flags=FLAGS)
        more = self._fused(builder, alpha, value, builder.load(place, align=self.item))
        builder.store(builder.select(fresh, new, more), place, align=self.item)

    def _store_columns(
        self, builder: Any, sums: list[list[Any]], c: Any, down: Any, columns: Any, how: Any
    ) -> None:
        """Store the first columns of all rows in pieces: a vector, half a vector, and so on."""
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
                    self._store_sums(builder, piece, place, how)
            order = [*range(size, self.lanes), *range(size)]
            rest = [
                row[-1] if size == self.lanes else self._elements(builder, vector, order)
                for row, vector in zip(sums, left)
            ]
            left = [builder.select(wanted, new, old) for new, old in zip(rest, left)]
            size //= 2

    def _store_part(
        self, builder: Any, sums: list[list[Any]], c: Any, down: Any, rows: Any, columns: Any,
        how: Any,
    ) -> None:  # fmt: skip
        """Store the first rows and columns, element by element, from a copy on the stack."""
        room = llvm_utils.entry_alloca(builder, self.vector, self.vectors * len(sums))
        tile = builder.bitcast(room, self.pointer)
        for i, row in enumerate(sums):
            line = builder.gep(tile, [INT(i * self.columns)])
            for half, value in enumerate(row):
                self._store(builder, value, line, half)
        with self._plain_loop(builder, rows) as i:
            with self._plain_loop(builder, columns) as j:
                value = builder.load(self._at(builder, tile, [(i, INT(self.columns)), (j, INT(1))]))
                place = self._at(builder, c, [(i, down), (j, INT(1))])
                self._store_sums(builder, value, place, how)
