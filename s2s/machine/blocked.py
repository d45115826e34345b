"""Products of matrices without a library, by tiles that stay in registers.

    c = alpha * a @ b + beta * c

A tile of six rows and two vectors of columns is accumulated over a stretch of the inner axis;
the columns of `b` for it are copied to a place of their own where they are not used as they stand.
Every element is the sum of its products in order, stretch by stretch, whatever the width of the
machine's vectors: two machines that multiply and add in one step agree to the last bit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir

from . import kinds as types
from . import writing
from .advice import note
from .writing import INT, counting, declared, new_function

# The rows of a tile, and of one for what such tiles leave over.
ROWS, FEW = 6, 4
# The inner axis is taken in stretches of so many bytes of a column,
STRETCH = 1024
# and from so many rows on, copying pays for columns that could be used as they stand.
MANY = 24
BOOL = ir.IntType(1)
# Numba gives instructions without flags one by which sums may be taken in another order.
FLAGS = ("contract",)


def width(features: str) -> int:
    """Bytes of a vector on a machine with these features."""
    names = set(features.split(","))
    if "+avx512f" in names:
        return 64
    return 32 if "+avx" in names else 16


class Gemm:
    """The function for one type of numbers, in a module."""

    def __init__(self, module: Any, dtype: Any, vector_bytes: int) -> None:
        self.module = module
        self.number = ir.FloatType() if dtype == types.float32 else ir.DoubleType()
        self.item = 4 if dtype == types.float32 else 8
        self.lanes = vector_bytes // self.item
        self.vectors = 2  # across a tile
        self.columns = self.vectors * self.lanes
        self.stretch = STRETCH // self.item
        self.vector = ir.VectorType(self.number, self.lanes)
        self.pointer = self.number.as_pointer()
        self.suffix = "f32" if self.item == 4 else "f64"

    def function(self) -> Any:
        """gemm(swap_a, swap_b, alpha, a, b, beta, c, m, n, k)"""
        name = f"s2s.blocked.{self.suffix}"
        made = self.module.globals.get(name)
        if made is None:
            kinds = [BOOL, BOOL, self.number, self.pointer, self.pointer, self.number]
            made = self._declare(name, [*kinds, self.pointer, INT, INT, INT])
            self._write(made)
        return made

    def _declare(self, name: str, kinds: list[Any]) -> Any:
        type_ = ir.FunctionType(ir.VoidType(), kinds)
        return new_function(self.module, type_, name, "noinline")

    # ---- loops over tiles

    def _write(self, made: Any) -> None:
        swap_a, swap_b, alpha, a, b, beta, c, m, n, k = made.args
        high, low, copy = self._tile(ROWS), self._tile(FEW), self._copy()
        builder = ir.IRBuilder(made.append_basic_block())
        room: Any = builder.alloca(self.vector, self.vectors * self.stretch)
        room.align = 64
        panel = builder.bitcast(room, self.pointer)
        self._scale_only(builder, beta, c, m, n, k)
        a_down, a_right = self._strides(builder, swap_a, k, m)
        b_down, b_right = self._strides(builder, swap_b, n, k)
        many = builder.icmp_signed(">=", m, INT(MANY))
        middle = self._middle(builder, m)
        tiles = ((high, ROWS, INT(0), middle), (low, FEW, middle, m))
        with self._steps(builder, k, self.stretch) as (p, depth):
            first = builder.icmp_signed("==", p, INT(0))
            with self._steps(builder, n, self.columns) as (j, across):
                corner = self._at(builder, b, [(p, b_down), (j, b_right)])
                partial = builder.icmp_signed("<", across, INT(self.columns))
                copied = builder.or_(builder.or_(swap_b, partial), many)
                with builder.if_then(copied):
                    builder.call(copy, [corner, b_down, b_right, depth, across, panel])
                columns = builder.select(copied, panel, corner)
                stride = builder.select(copied, INT(self.columns), b_down)
                for tile, height, begin, end in tiles:
                    with self._steps(builder, builder.sub(end, begin), height) as (at, down):
                        i = builder.add(begin, at)
                        rows = self._at(builder, a, [(i, a_down), (p, a_right)])
                        place = self._at(builder, c, [(i, n), (j, INT(1))])
                        builder.call(
                            tile,
                            [depth, rows, a_down, a_right, columns, stride, place, n, down, across,
                             alpha, beta, first],
                        )  # fmt: skip
        builder.ret_void()

    def _middle(self, builder: Any, m: Any) -> Any:
        """The row from which on tiles are low, so that few rows are computed for nothing: what
        high tiles leave over, or, if that is half a low one, that and the last high one."""
        over = builder.srem(m, INT(ROWS))
        half = builder.icmp_signed("==", over, INT(2 * FEW - ROWS))
        two = builder.and_(half, builder.icmp_signed(">", m, INT(ROWS)))
        fits = builder.icmp_signed("<=", over, INT(FEW))
        below = builder.select(two, INT(2 * FEW), builder.select(fits, over, INT(0)))
        return builder.sub(m, below)

    def _scale_only(self, builder: Any, beta: Any, c: Any, m: Any, n: Any, k: Any) -> None:
        """A sum of no products."""
        none = builder.icmp_signed("<=", k, INT(0))
        with builder.if_then(none, likely=False):
            zero = ir.Constant(self.number, 0.0)
            clean = builder.fcmp_ordered("==", beta, zero)
            with counting(builder, builder.mul(m, n)) as loop:
                place = builder.gep(c, [loop])
                scaled = builder.fmul(builder.load(place), beta, flags=FLAGS)
                builder.store(builder.select(clean, zero, scaled), place)

    def _strides(self, builder: Any, swapped: Any, width: Any, height: Any) -> tuple[Any, Any]:
        """Down and to the right, of a matrix `width` wide or, swapped, `height` wide."""
        one = INT(1)
        return builder.select(swapped, one, width), builder.select(swapped, height, one)

    @contextlib.contextmanager
    def _steps(self, builder: Any, stop: Any, step: int) -> Iterator[tuple[Any, Any]]:
        """A loop over 0, step, … with how much is left there, `step` at most."""
        rounds = builder.sdiv(builder.add(stop, INT(step - 1)), INT(step))
        with counting(builder, rounds) as loop:
            at = builder.mul(loop, INT(step))
            left = builder.sub(stop, at)
            whole = builder.icmp_signed(">", left, INT(step))
            yield at, builder.select(whole, INT(step), left)

    def _at(self, builder: Any, base: Any, steps: list[tuple[Any, Any]]) -> Any:
        offset: Any = INT(0)
        for index, stride in steps:
            offset = builder.add(offset, builder.mul(index, stride))
        return builder.gep(base, [offset])

    # ---- columns of b

    def _copy(self) -> Any:
        """copy(b, down, right, depth, across, panel): row by row, zeros for what is missing."""
        name = f"s2s.blocked.copy.{self.columns}.{self.suffix}"
        if name in self.module.globals:
            return self.module.globals[name]
        made = self._declare(name, [self.pointer, INT, INT, INT, INT, self.pointer])
        b, down, right, depth, across, panel = made.args
        panel.add_attribute("noalias")
        builder = ir.IRBuilder(made.append_basic_block())
        whole = builder.icmp_signed("==", across, INT(self.columns))
        straight = builder.and_(whole, builder.icmp_signed("==", right, INT(1)))
        with builder.if_then(straight):
            with counting(builder, depth) as loop:
                source = builder.gep(b, [builder.mul(loop, down)])
                goal = builder.gep(panel, [builder.mul(loop, INT(self.columns))])
                for half in range(self.vectors):
                    value = self._load(builder, source, half)
                    self._store(builder, value, goal, half)
            builder.ret_void()
        zero = ir.Constant(self.vector, [0.0] * self.lanes)
        width = INT(self.columns)
        with self._each(builder, depth) as p:
            line = self._at(builder, panel, [(p, width)])
            for half in range(self.vectors):
                self._store(builder, zero, line, half)
        with self._each(builder, across) as j:
            with self._each(builder, depth) as p:
                source = self._at(builder, b, [(p, down), (j, right)])
                goal = self._at(builder, panel, [(p, width), (j, INT(1))])
                builder.store(builder.load(source), goal)
        builder.ret_void()
        return made

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

    # ---- a tile

    def _tile(self, height: int) -> Any:
        """tile(depth, a, down, right, b, b_down, c, c_down, rows, columns, alpha, beta, first)"""
        p, n = self.pointer, self.number
        kinds = [INT, p, INT, INT, p, INT, p, INT, INT, INT, n, n, BOOL]
        made = self._declare(f"s2s.blocked.tile.{height}.{self.suffix}", kinds)
        depth, a, down, right, b, b_down, c, c_down, rows, columns, alpha, beta, first = made.args
        builder: Any = ir.IRBuilder(made.append_basic_block())
        # Rows that are not there are computed as the last one is, and not kept.
        starts = []
        for i in range(height):
            beyond = builder.icmp_signed(">=", INT(i), rows)
            row = builder.select(beyond, builder.sub(rows, INT(1)), INT(i))
            starts.append(builder.gep(a, [builder.mul(row, down)]))
        sums = self._accumulate(
            builder,
            depth,
            starts,
            lambda p: builder.mul(p, right),
            lambda p: self._at(builder, b, [(p, b_down)]),
        )
        whole_rows = builder.icmp_signed("==", rows, INT(height))
        whole = builder.and_(whole_rows, builder.icmp_signed("==", columns, INT(self.columns)))
        scale = self._spread(builder, alpha)
        scaled = [[builder.fmul(scale, s, flags=FLAGS) for s in row] for row in sums]
        clean = builder.fcmp_ordered("==", beta, ir.Constant(n, 0.0))
        fresh = builder.and_(first, clean)
        factor = builder.select(first, beta, ir.Constant(n, 1.0))
        with builder.if_else(whole) as (inside, edge):
            with inside:
                self._keep_whole(builder, scaled, c, c_down, fresh, factor)
            with edge:
                self._keep_part(builder, scaled, c, c_down, rows, columns, fresh, factor)
        builder.ret_void()
        return made

    def _accumulate(
        self,
        builder: Any,
        depth: Any,
        starts: list[Any],
        along: Callable[[Any], Any],
        line: Callable[[Any], Any],
        begin: list[list[Any]] | None = None,
    ) -> list[list[Any]]:
        """The sums of a tile, from `begin` or 0 on.  Product p is of what lies `along(p)` from the
        start of each row with the vectors at `line(p)`."""
        name = f"llvm.fmuladd.v{self.lanes}{self.suffix}"
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        add = declared(self.module, kind, name)
        zero = ir.Constant(self.vector, [0.0] * self.lanes)
        begin = begin or [[zero] * self.vectors for _ in starts]
        before = builder.block
        head, done = builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_signed(">", depth, INT(0)), head, done)
        builder.position_at_end(head)
        p = builder.phi(INT)
        p.add_incoming(INT(0), before)
        phis = [[self._phi(builder, s, before) for s in row] for row in begin]
        place, far = line(p), along(p)
        halves = [self._load(builder, place, half) for half in range(self.vectors)]
        sums = []
        for start, row in zip(starts, phis):
            x = self._spread(builder, builder.load(builder.gep(start, [far])))
            sums.append([builder.call(add, [x, y, s], fastmath=FLAGS) for y, s in zip(halves, row)])
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

    def _phi(self, builder: Any, value: Any, block: Any) -> Any:
        phi = builder.phi(self.vector)
        phi.add_incoming(value, block)
        return phi

    def _spread(self, builder: Any, number: Any, vector: Any = None) -> Any:
        undefined = ir.Constant(vector or self.vector, ir.Undefined)
        one = builder.insert_element(undefined, number, ir.IntType(32)(0))
        order = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
        return builder.shuffle_vector(one, undefined, order)

    def _keep_whole(
        self, builder: Any, sums: list[list[Any]], c: Any, down: Any, fresh: Any, factor: Any
    ) -> None:
        with builder.if_else(fresh) as (new, old):
            with new:
                for i, row in enumerate(sums):
                    line = builder.gep(c, [builder.mul(INT(i), down)])
                    for half, value in enumerate(row):
                        self._store(builder, value, line, half)
            with old:
                scale = self._spread(builder, factor)
                for i, row in enumerate(sums):
                    line = builder.gep(c, [builder.mul(INT(i), down)])
                    for half, value in enumerate(row):
                        there = builder.fmul(self._load(builder, line, half), scale, flags=FLAGS)
                        self._store(builder, builder.fadd(there, value, flags=FLAGS), line, half)

    def _keep_part(
        self, builder: Any, sums: list[list[Any]], c: Any, down: Any, rows: Any, columns: Any,
        fresh: Any, factor: Any,
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
                there = builder.fmul(builder.load(place), factor, flags=FLAGS)
                more = builder.fadd(there, value, flags=FLAGS)
                builder.store(builder.select(fresh, value, more), place)
