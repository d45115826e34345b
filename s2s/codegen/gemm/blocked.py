"""Blocked matrix product with register tiles, without a library.

    c = alpha * a @ b + beta * c

A tile of six rows and two vectors of columns is accumulated over a block of the inner axis.  The
columns of `b` for it are packed into a panel, unless they are used in place.  They are packed by
the first tiles that use them, while these are bound by memory latency, or beforehand if `b` is
transposed.  All columns that fit into the panel are multiplied with some rows of `a` before the
next rows: the shorter the inner axis, the longer the pieces of rows of `c` that are written.
Every element is the sum of its products in order, block by block, whatever the vector width of the
machine: two machines with fused multiply-add agree to the last bit.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..llvm_utils import INT, counted_loop, declare_function
from .bands import BOOL, Bands
from .tile import FLAGS

NAME = "s2s.blocked"
# The rows of a tile, and of a short tile for the remaining rows.
TILE_ROWS, SHORT_TILE_ROWS = 6, 4
# The inner axis is cut into blocks of about equal length: at most LONGEST bytes of a column, a
# multiple of DEPTH_MULTIPLE elements.
MAX_DEPTH_BYTES, DEPTH_MULTIPLE = 1280, 16
# Packing is profitable for columns that could be used in place from MANY rows on; from MANY_ALIGNED
# rows on if they start at a cache line and their stride is no multiple of CONFLICT_STRIDE bytes, at
# which elements evict each other from the cache.
MIN_ROWS_TO_PACK, MANY_ALIGNED = 24, 40
CACHE_LINE, CONFLICT_STRIDE = 64, 2048


def vector_bytes_of(features: str) -> int:
    """Bytes of a vector register of a CPU with these features."""
    names = set(features.split(","))
    if "+avx512f" in names:
        return 64
    return 32 if "+avx" in names else 16


class Gemm(Bands):
    """Emitter of the gemm function for one dtype, in a module."""

    name = NAME

    def __init__(self, module: Any, dtype: Any, vector_bytes: int) -> None:
        super().__init__(module, dtype, vector_bytes)
        self.longest = MAX_DEPTH_BYTES // self.item
        self.room = self.columns * self.longest  # elements of the panel of packed columns

    def function(self) -> Any:
        """The function gemm(swap_a, swap_b, alpha, a, b, beta, c, m, n, k), defined once."""
        made = self.declared()
        if not made.blocks:
            made.linkage = "internal"
            made.attributes.add("noinline")
            self._write(made)
        return made

    def declared(self) -> Any:
        """The same function, only declared."""
        type_ = ir.FunctionType(ir.VoidType(), self._kinds())
        return declare_function(self.module, type_, f"{self.name}.{self.suffix}")

    def _kinds(self) -> list[Any]:
        p, n = self.pointer, self.number
        return [BOOL, BOOL, n, p, p, n, p, INT, INT, INT]

    # ---- loops over tiles

    def _write(self, made: Any) -> None:
        swap_a, swap_b, alpha, a, b, beta, c, m, n, k = made.args
        high, low, first_high = (
            self._full_tiles(TILE_ROWS),
            self._full_tiles(SHORT_TILE_ROWS),
            self._full_tiles(TILE_ROWS, copying=True),
        )
        high_edges, low_edges, copy = (
            self._partial_tiles(TILE_ROWS),
            self._partial_tiles(SHORT_TILE_ROWS),
            self._copy(),
        )
        builder = ir.IRBuilder(made.append_basic_block())
        panel, nothing = self._panel(builder), self._negative_zeros(builder)
        self._scale(builder, beta, c, m, n, k)
        clean = builder.fcmp_ordered("==", beta, ir.Constant(self.number, 0.0))
        a_down, a_right = self._strides(builder, swap_a, k, m)
        b_down, b_right = self._strides(builder, swap_b, n, k)
        many = builder.icmp_signed(">=", m, self._packing_threshold(builder, b, n))
        as_is = builder.not_(builder.or_(many, swap_b))
        middle = self._short_tiles_start(builder, m)
        width = INT(self.columns)
        with self._strips(builder, k, self._block_depth(builder, k)) as (p, depth):
            fresh = builder.and_(clean, builder.icmp_signed("==", p, INT(0)))
            tiles = builder.sdiv(INT(self.room), builder.mul(depth, width))
            step = builder.mul(tiles, width)
            # Columns that are not packed are all processed at once.
            all_ = builder.and_(n, INT(-self.columns))
            more = builder.and_(as_is, builder.icmp_signed(">", all_, step))
            step = builder.select(more, all_, step)
            with self._strips(builder, n, step) as (left, across):
                corner = self._at(builder, b, [(p, b_down), (left, b_right)])
                over = builder.and_(across, INT(self.columns - 1))
                whole = builder.sub(across, over)
                ragged = builder.icmp_signed("!=", over, INT(0))
                before = builder.or_(swap_b, ragged)
                with builder.if_then(before):
                    with self._strips(builder, across, self.columns) as (j, some):
                        source = self._at(builder, corner, [(j, b_right)])
                        goal = self._at(builder, panel, [(j, depth)])
                        builder.call(copy, [source, b_down, b_right, depth, some, goal])
                there = (corner, b_down, INT(1))

                def start(i: Any, j: Any) -> tuple[list[Any], Any]:
                    x = self._at(builder, a, [(i, a_down), (p, a_right)])
                    place = self._at(builder, c, [(i, n), (builder.add(left, j), INT(1))])
                    return [depth, x, a_down, a_right], place

                def tiles_of(called: Any, i: Any, rows: Any, lines: Any) -> None:
                    parts, place = start(i, INT(0))
                    parts += [*lines, place, n, rows, whole, alpha, fresh, nothing, panel]
                    builder.call(called, parts)

                early = builder.and_(many, builder.not_(before))
                with builder.if_then(early):
                    tiles_of(first_high, INT(0), INT(TILE_ROWS), there)
                copied = builder.or_(before, many)
                lines = [builder.select(copied, x, y) for x, y in zip((panel, width, depth), there)]

                def edges_of(called: Any, i: Any, rows: Any, j: Any, columns: Any) -> None:
                    base, down, right = lines
                    parts, place = start(i, j)
                    parts += [self._at(builder, base, [(j, right)]), down]
                    builder.call(called, [*parts, place, n, rows, columns, alpha, fresh])

                def some(size: Any) -> Any:
                    return builder.if_then(builder.icmp_signed(">", size, INT(0)))

                top = builder.select(early, INT(TILE_ROWS), INT(0))
                for height, called, edges, begin, end in (
                    (TILE_ROWS, high, high_edges, top, middle),
                    (SHORT_TILE_ROWS, low, low_edges, middle, m),
                ):  # fmt: skip
                    rows = builder.sub(end, begin)
                    below = builder.srem(rows, INT(height))
                    rows = builder.sub(rows, below)
                    with some(rows):
                        with some(whole):
                            tiles_of(called, begin, rows, lines)
                        with some(over):
                            edges_of(edges, begin, rows, whole, over)
                    with some(below):
                        with self._strips(builder, across, self.columns) as (j, columns):
                            edges_of(edges, builder.add(begin, rows), below, j, columns)
        builder.ret_void()

    def _negative_zeros(self, builder: Any) -> Any:
        """A tile row of -0.0, the neutral element of addition."""
        room = builder.alloca(self.vector, self.vectors)
        line = builder.bitcast(room, self.pointer)
        for half in range(self.vectors):
            zero = ir.Constant(self.vector, [-0.0] * self.lanes)
            self._store(builder, zero, line, half)
        return line

    def _packing_threshold(self, builder: Any, b: Any, n: Any) -> Any:
        """The number of rows from which on packing is profitable."""
        step = builder.mul(n, INT(self.item))
        across = builder.or_(builder.ptrtoint(b, INT), step)
        aligned = builder.icmp_signed("==", builder.and_(across, INT(CACHE_LINE - 1)), INT(0))
        spread = builder.icmp_signed("!=", builder.and_(step, INT(CONFLICT_STRIDE - 1)), INT(0))
        return builder.select(
            builder.and_(aligned, spread), INT(MANY_ALIGNED), INT(MIN_ROWS_TO_PACK)
        )

    def _panel(self, builder: Any) -> Any:
        """Allocate the panel for packed columns on the stack."""
        room: Any = builder.alloca(self.vector, self.vectors * self.longest)
        room.align = 64
        return builder.bitcast(room, self.pointer)

    def _block_depth(self, builder: Any, k: Any) -> Any:
        """The length of the blocks of the inner axis, all about equal."""
        k = builder.select(builder.icmp_signed(">", k, INT(0)), k, INT(1))
        count = builder.sdiv(builder.add(k, INT(self.longest - 1)), INT(self.longest))
        length = builder.sdiv(builder.add(k, builder.sub(count, INT(1))), count)
        return builder.and_(builder.add(length, INT(DEPTH_MULTIPLE - 1)), INT(-DEPTH_MULTIPLE))

    def _short_tiles_start(self, builder: Any, m: Any) -> Any:
        """The row from which on short tiles are used, so that few missing rows are computed: the
        remainder of the high tiles, or, if that is half a short tile, with the last high tile."""
        over = builder.srem(m, INT(TILE_ROWS))
        half = builder.icmp_signed("==", over, INT(2 * SHORT_TILE_ROWS - TILE_ROWS))
        two = builder.and_(half, builder.icmp_signed(">", m, INT(TILE_ROWS)))
        fits = builder.icmp_signed("<=", over, INT(SHORT_TILE_ROWS))
        below = builder.select(two, INT(2 * SHORT_TILE_ROWS), builder.select(fits, over, INT(0)))
        return builder.sub(m, below)

    def _scale(self, builder: Any, beta: Any, c: Any, m: Any, n: Any, k: Any) -> None:
        """Scale `c` by beta unless beta is 0 or 1; for k = 0, set it to beta * c or 0."""
        zero, one = (ir.Constant(self.number, x) for x in (0.0, 1.0))
        clean = builder.fcmp_ordered("==", beta, zero)
        kept = builder.fcmp_ordered("==", beta, one)
        none = builder.icmp_signed("<=", k, INT(0))
        wanted = builder.or_(none, builder.not_(builder.or_(clean, kept)))
        with builder.if_then(wanted, likely=False):
            with counted_loop(builder, builder.mul(m, n)) as loop:
                place = builder.gep(c, [loop])
                scaled = builder.fmul(builder.load(place), beta, flags=FLAGS)
                builder.store(builder.select(clean, zero, scaled), place)

    def _strides(self, builder: Any, swapped: Any, width: Any, height: Any) -> tuple[Any, Any]:
        """Row and column stride of a matrix with row length `width`, or `height` if transposed."""
        one = INT(1)
        return builder.select(swapped, one, width), builder.select(swapped, height, one)

    # ---- packing of columns of b

    def _copy(self) -> Any:
        """The function copy(b, down, right, depth, across, panel): packs columns row by row, padded
        with zeros."""
        made = self._declare(
            f"copy.{self.columns}", [self.pointer, INT, INT, INT, INT, self.pointer]
        )
        b, down, right, depth, across, panel = made.args
        panel.add_attribute("noalias")
        builder = ir.IRBuilder(made.append_basic_block())
        width = INT(self.columns)
        whole = builder.icmp_signed("==", across, width)
        straight = builder.icmp_signed("==", right, INT(1))
        with builder.if_then(builder.and_(whole, straight)):
            with counted_loop(builder, depth) as loop:
                source = builder.gep(b, [builder.mul(loop, down)])
                goal = builder.gep(panel, [builder.mul(loop, width)])
                for half in range(self.vectors):
                    value = self._load(builder, source, half)
                    self._store(builder, value, goal, half)
            builder.ret_void()
        crosswise = builder.and_(whole, builder.icmp_signed("==", down, INT(1)))
        squares = builder.select(crosswise, builder.sdiv(depth, INT(self.lanes)), INT(0))
        with self._plain_loop(builder, squares) as square:
            p = builder.mul(square, INT(self.lanes))
            self._pack_transposed(
                builder, builder.gep(b, [p]), right, self._at(builder, panel, [(p, width)])
            )
        done = builder.mul(squares, INT(self.lanes))
        rest = builder.sub(depth, done)
        zero = ir.Constant(self.vector, [0.0] * self.lanes)
        source, goal = (
            self._at(builder, b, [(done, down)]),
            self._at(builder, panel, [(done, width)]),
        )
        with self._plain_loop(builder, rest) as p:
            line = self._at(builder, goal, [(p, width)])
            for half in range(self.vectors):
                self._store(builder, zero, line, half)
        with self._plain_loop(builder, across) as j:
            with self._plain_loop(builder, rest) as p:
                value = builder.load(self._at(builder, source, [(p, down), (j, right)]))
                builder.store(value, self._at(builder, goal, [(p, width), (j, INT(1))]))
        builder.ret_void()
        return made

    def _pack_transposed(self, builder: Any, columns: Any, right: Any, goal: Any) -> None:
        """Pack square blocks of contiguous columns by an in-register transpose: pairs of vectors
        exchange halves, then quarters, and so on."""
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
                        block[i], block[i + size] = self._exchange_parts(
                            builder, block[i], block[i + size], size
                        )
                size //= 2
            for row, vector in enumerate(block):
                self._store(builder, vector, builder.gep(goal, [INT(row * self.columns)]), half)

    def _exchange_parts(self, builder: Any, x: Any, y: Any, size: int) -> tuple[Any, Any]:
        """Two vectors, split into parts of `size` elements, after the odd parts of the first are
        exchanged with the even parts of the second."""
        lanes = range(self.lanes)
        kind = ir.VectorType(ir.IntType(32), self.lanes)
        upper = [self.lanes + i - size if i & size else i for i in lanes]
        lower = [self.lanes + i if i & size else i + size for i in lanes]
        made = [builder.shuffle_vector(x, y, ir.Constant(kind, o)) for o in (upper, lower)]
        return made[0], made[1]
