"""Products of matrices without a library, by tiles that stay in registers.

    c = alpha * a @ b + beta * c

A tile of six rows and two vectors of columns is accumulated over a stretch of the inner axis.
The columns of `b` for it are copied to a place of their own where they are not used as they stand:
by the first tiles that use them, while these wait for memory anyway, or before, where they lie
crosswise.  As many columns as that place holds are multiplied with some rows of `a` before the
next rows: the shorter the inner axis, the more of `c` is written as it lies.
Every element is the sum of its products in order, stretch by stretch, whatever the width of the
machine's vectors: two machines that multiply and add in one step agree to the last bit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir

from . import kinds as types
from . import writing
from .advice import note
from .writing import INT, counting, declared, new_function

NAME = "s2s.blocked"
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

    name = NAME

    def __init__(self, module: Any, dtype: Any, vector_bytes: int) -> None:
        self.module = module
        self.number = ir.FloatType() if dtype == types.float32 else ir.DoubleType()
        self.item = 4 if dtype == types.float32 else 8
        self.lanes = vector_bytes // self.item
        self.vectors = 2  # across a tile
        self.columns = self.vectors * self.lanes
        self.stretch = STRETCH // self.item
        self.room = self.columns * self.stretch  # for copies of columns
        self.vector = ir.VectorType(self.number, self.lanes)
        self.pointer = self.number.as_pointer()
        self.suffix = "f32" if self.item == 4 else "f64"

    def function(self) -> Any:
        """gemm(swap_a, swap_b, alpha, a, b, beta, c, m, n, k)"""
        made = self.declared()
        if not made.blocks:
            made.linkage = "internal"
            made.attributes.add("noinline")
            self._write(made)
        return made

    def declared(self) -> Any:
        """The same, to be found elsewhere."""
        type_ = ir.FunctionType(ir.VoidType(), self._kinds())
        return declared(self.module, type_, f"{self.name}.{self.suffix}")

    def _kinds(self) -> list[Any]:
        p, n = self.pointer, self.number
        return [BOOL, BOOL, n, p, p, n, p, INT, INT, INT]

    def _declare(self, name: str, kinds: list[Any]) -> Any:
        type_ = ir.FunctionType(ir.VoidType(), kinds)
        return new_function(self.module, type_, name, "noinline")

    # ---- loops over tiles

    def _write(self, made: Any) -> None:
        swap_a, swap_b, alpha, a, b, beta, c, m, n, k = made.args
        high, low, first_high = self._band(ROWS), self._band(FEW), self._band(ROWS, copying=True)
        copy = self._copy()
        builder = ir.IRBuilder(made.append_basic_block())
        room: Any = builder.alloca(self.vector, self.vectors * self.stretch)
        room.align = 64
        panel = builder.bitcast(room, self.pointer)
        self._scale_only(builder, beta, c, m, n, k)
        a_down, a_right = self._strides(builder, swap_a, k, m)
        b_down, b_right = self._strides(builder, swap_b, n, k)
        many = builder.icmp_signed(">=", m, INT(MANY))
        middle = self._middle(builder, m)
        width = INT(self.columns)
        with self._steps(builder, k, self.stretch) as (p, depth):
            first = builder.icmp_signed("==", p, INT(0))
            tiles = builder.sdiv(INT(self.room), builder.mul(depth, width))
            with self._steps(builder, n, builder.mul(tiles, width)) as (left, across):
                corner = self._at(builder, b, [(p, b_down), (left, b_right)])
                ragged = builder.icmp_signed("!=", builder.srem(across, width), INT(0))
                before = builder.or_(swap_b, ragged)
                with builder.if_then(before):
                    with self._steps(builder, across, self.columns) as (j, some):
                        source = self._at(builder, corner, [(j, b_right)])
                        goal = self._at(builder, panel, [(j, depth)])
                        builder.call(copy, [source, b_down, b_right, depth, some, goal])

                def rows(band: Any, i: Any, down: Any, columns: list[Any]) -> None:
                    start = self._at(builder, a, [(i, a_down), (p, a_right)])
                    place = self._at(builder, c, [(i, n), (left, INT(1))])
                    parts = [depth, start, a_down, a_right, *columns, place, n, down, across]
                    builder.call(band, [*parts, alpha, beta, first, panel])

                there = [corner, b_down, INT(1)]
                early = builder.and_(many, builder.not_(before))
                with builder.if_then(early):
                    rows(first_high, INT(0), INT(ROWS), there)
                copied = builder.or_(before, many)
                columns = [
                    builder.select(copied, x, y) for x, y in zip((panel, width, depth), there)
                ]
                top = builder.select(early, INT(ROWS), INT(0))
                for band, height, begin, end in ((high, ROWS, top, middle), (low, FEW, middle, m)):
                    with self._steps(builder, builder.sub(end, begin), height) as (at, down):
                        rows(band, builder.add(begin, at), down, columns)
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
    def _steps(self, builder: Any, stop: Any, step: Any) -> Iterator[tuple[Any, Any]]:
        """A loop over 0, step, … with how much is left there, `step` at most."""
        step = INT(step) if isinstance(step, int) else step
        rounds = builder.sdiv(builder.add(stop, builder.sub(step, INT(1))), step)
        with counting(builder, rounds) as loop:
            at = builder.mul(loop, step)
            left = builder.sub(stop, at)
            whole = builder.icmp_signed(">", left, step)
            yield at, builder.select(whole, step, left)

    def _at(self, builder: Any, base: Any, steps: list[tuple[Any, Any]]) -> Any:
        offset: Any = INT(0)
        for index, stride in steps:
            offset = builder.add(offset, builder.mul(index, stride))
        return builder.gep(base, [offset])

    # ---- columns of b

    def _copy(self) -> Any:
        """copy(b, down, right, depth, across, panel): row by row, zeros for what is missing."""
        name = f"{NAME}.copy.{self.columns}.{self.suffix}"
        if name in self.module.globals:
            return self.module.globals[name]
        made = self._declare(name, [self.pointer, INT, INT, INT, INT, self.pointer])
        b, down, right, depth, across, panel = made.args
        panel.add_attribute("noalias")
        builder = ir.IRBuilder(made.append_basic_block())
        width = INT(self.columns)
        whole = builder.icmp_signed("==", across, width)
        straight = builder.icmp_signed("==", right, INT(1))
        with builder.if_then(builder.and_(whole, straight)):
            with counting(builder, depth) as loop:
                source = builder.gep(b, [builder.mul(loop, down)])
                goal = builder.gep(panel, [builder.mul(loop, width)])
                for half in range(self.vectors):
                    value = self._load(builder, source, half)
                    self._store(builder, value, goal, half)
            builder.ret_void()
        crosswise = builder.and_(whole, builder.icmp_signed("==", down, INT(1)))
        squares = builder.select(crosswise, builder.sdiv(depth, INT(self.lanes)), INT(0))
        with self._each(builder, squares) as square:
            p = builder.mul(square, INT(self.lanes))
            self._turn(builder, builder.gep(b, [p]), right, self._at(builder, panel, [(p, width)]))
        done = builder.mul(squares, INT(self.lanes))
        rest = builder.sub(depth, done)
        zero = ir.Constant(self.vector, [0.0] * self.lanes)
        source, goal = (
            self._at(builder, b, [(done, down)]),
            self._at(builder, panel, [(done, width)]),
        )
        with self._each(builder, rest) as p:
            line = self._at(builder, goal, [(p, width)])
            for half in range(self.vectors):
                self._store(builder, zero, line, half)
        with self._each(builder, across) as j:
            with self._each(builder, rest) as p:
                value = builder.load(self._at(builder, source, [(p, down), (j, right)]))
                builder.store(value, self._at(builder, goal, [(p, width), (j, INT(1))]))
        builder.ret_void()
        return made

    def _turn(self, builder: Any, columns: Any, right: Any, goal: Any) -> None:
        """As many rows of a tile's columns as a vector has elements, of columns that lie in one
        piece each: pairs of vectors exchange halves, then quarters, and so on."""
        for half in range(self.vectors):
            first = half * self.lanes
            block = [
                self._load(builder, self._at(builder, columns, [(INT(first + e), right)]), 0)
                for e in range(self.lanes)
            ]
            size = self.lanes // 2
            while size:
                for i in range(self.lanes):
                    if not i & size:
                        block[i], block[i + size] = self._exchange(
                            builder, block[i], block[i + size], size
                        )
                size //= 2
            for row, vector in enumerate(block):
                self._store(builder, vector, builder.gep(goal, [INT(row * self.columns)]), half)

    def _exchange(self, builder: Any, x: Any, y: Any, size: int) -> tuple[Any, Any]:
        """Two vectors of which the second parts of the one, parts being of a size, have changed
        places with the first ones of the other."""
        lanes = range(self.lanes)
        kind = ir.VectorType(ir.IntType(32), self.lanes)
        upper = [self.lanes + i - size if i & size else i for i in lanes]
        lower = [self.lanes + i if i & size else i + size for i in lanes]
        made = [builder.shuffle_vector(x, y, ir.Constant(kind, o)) for o in (upper, lower)]
        return made[0], made[1]

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

    # ---- tiles

    def _band(self, height: int, copying: bool = False) -> Any:
        """band(depth, a, down, right, b, b_down, b_right, c, c_down, rows, across, alpha, beta,
        first, panel): the tiles of some rows, side by side.  One that is `copying` leaves the
        columns in the panel; `b_right` is for one column, of the panel for one of a tile."""
        p, n = self.pointer, self.number
        kinds = [INT, p, INT, INT, p, INT, INT, p, INT, INT, INT, n, n, BOOL, p]
        name = f"{NAME}.{'copying' if copying else 'band'}.{height}.{self.suffix}"
        made = self._declare(name, kinds)
        depth, a, down, right, b, b_down, b_right, c, c_down, rows, across, alpha, beta = made.args[
            :-2
        ]
        first, panel = made.args[-2:]
        builder: Any = ir.IRBuilder(made.append_basic_block())
        # Rows that are not there are computed as the last one is, and not kept.
        starts = []
        for i in range(height):
            beyond = builder.icmp_signed(">=", INT(i), rows)
            row = builder.select(beyond, builder.sub(rows, INT(1)), INT(i))
            starts.append(builder.gep(a, [builder.mul(row, down)]))
        whole_rows = builder.icmp_signed("==", rows, INT(height))
        clean = builder.fcmp_ordered("==", beta, ir.Constant(n, 0.0))
        fresh = builder.and_(first, clean)
        factor = builder.select(first, beta, ir.Constant(n, 1.0))
        with self._steps(builder, across, self.columns) as (j, columns):
            here, place = self._at(builder, b, [(j, b_right)]), builder.gep(c, [j])

            def tile(vectors: int) -> None:
                sums = self._accumulate(
                    builder,
                    depth,
                    starts,
                    lambda p: builder.mul(p, right),
                    lambda p: self._at(builder, here, [(p, b_down)]),
                    [[ir.Constant(self.vector, [0.0] * self.lanes)] * vectors for _ in starts],
                    self._at(builder, panel, [(j, depth)]) if copying else None,
                )
                full = builder.icmp_signed("==", columns, INT(self.columns))
                scale = self._spread(builder, alpha)
                scaled = [[builder.fmul(scale, s, flags=FLAGS) for s in row] for row in sums]
                with builder.if_else(whole_rows) as (inside, edge):
                    with inside:
                        with builder.if_else(full) as (all_, some):
                            with all_:
                                self._keep_whole(builder, scaled, place, c_down, fresh, factor)
                            with some:
                                self._keep_columns(
                                    builder, scaled, place, c_down, columns, fresh, factor
                                )
                    with edge:
                        self._keep_part(
                            builder, scaled, place, c_down, rows, columns, fresh, factor
                        )

            if copying:
                tile(self.vectors)
            else:
                # What is left over on the right is often one vector wide.
                slim = builder.icmp_signed("<=", columns, INT(self.lanes))
                with builder.if_else(slim) as (last, wide):
                    with last:
                        tile(1)
                    with wide:
                        tile(self.vectors)
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
        copy: Any = None,
    ) -> list[list[Any]]:
        """The sums of a tile, from `begin` or 0 on.  Product p is of what lies `along(p)` from the
        start of each row with the vectors at `line(p)`, which are left one after the other at
        `copy`, if that is asked for."""
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
        halves = [self._load(builder, place, half) for half in range(len(begin[0]))]
        if copy is not None:
            goal = self._at(builder, copy, [(p, INT(self.columns))])
            for half, value in enumerate(halves):
                self._store(builder, value, goal, half)
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
        vector = vector or self.vector
        undefined = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(undefined, number, ir.IntType(32)(0))
        return self._elements(builder, one, [0] * vector.count)

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

    def _keep_columns(
        self, builder: Any, sums: list[list[Any]], c: Any, down: Any, columns: Any, fresh: Any,
        factor: Any,
    ) -> None:  # fmt: skip
        """Some columns of all rows, in pieces: a vector, half of one, and so on."""
        lines = [builder.gep(c, [builder.mul(INT(i), down)]) for i in range(len(sums))]
        left, size = [row[0] for row in sums], self.lanes
        while size:
            wanted = builder.icmp_signed("!=", builder.and_(columns, INT(size)), INT(0))
            at = builder.and_(columns, INT(-2 * size))
            with builder.if_then(wanted):
                for line, vector in zip(lines, left):
                    piece = self._elements(builder, vector, range(size))
                    self._keep_piece(builder, piece, builder.gep(line, [at]), fresh, factor)
            order = [*range(size, self.lanes), *range(size)]
            rest = [
                row[-1] if size == self.lanes else self._elements(builder, vector, order)
                for row, vector in zip(sums, left)
            ]
            left = [builder.select(wanted, new, old) for new, old in zip(rest, left)]
            size //= 2

    def _elements(self, builder: Any, vector: Any, order: Sequence[int]) -> Any:
        kind = ir.VectorType(ir.IntType(32), len(order))
        return builder.shuffle_vector(vector, vector, ir.Constant(kind, list(order)))

    def _keep_piece(self, builder: Any, piece: Any, place: Any, fresh: Any, factor: Any) -> None:
        place = builder.bitcast(place, piece.type.as_pointer())
        there = builder.load(place, align=self.item)
        scale = self._spread(builder, factor, piece.type)
        more = builder.fadd(builder.fmul(there, scale, flags=FLAGS), piece, flags=FLAGS)
        builder.store(builder.select(fresh, piece, more), place, align=self.item)

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
