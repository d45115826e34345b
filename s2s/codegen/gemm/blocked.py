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

from typing import Any

from llvmlite import ir

from ..llvm_utils import INT, counting, declared
from .bands import BOOL, Bands
from .tile import FLAGS

NAME = "s2s.blocked"
# The rows of a tile, and of one for what such tiles leave over.
ROWS, FEW = 6, 4
# The inner axis is taken in stretches of so many bytes of a column at most, all about as long: of
# multiples of so many elements.
LONGEST, EVEN = 1280, 16
# From so many rows on, copying pays for columns that could be used as they stand, and from more on
MANY, MORE = 24, 40
# if they begin with a line of the cache, of so many bytes, and their elements do not lie so many
# bytes apart that they displace each other there.
LINE, APART = 64, 2048


def width(features: str) -> int:
    """Bytes of a vector on a machine with these features."""
    names = set(features.split(","))
    if "+avx512f" in names:
        return 64
    return 32 if "+avx" in names else 16


class Gemm(Bands):
    """The function for one type of numbers, in a module."""

    name = NAME

    def __init__(self, module: Any, dtype: Any, vector_bytes: int) -> None:
        super().__init__(module, dtype, vector_bytes)
        self.longest = LONGEST // self.item
        self.room = self.columns * self.longest  # for copies of columns

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

    # ---- loops over tiles

    def _write(self, made: Any) -> None:
        swap_a, swap_b, alpha, a, b, beta, c, m, n, k = made.args
        high, low, first_high = self._whole(ROWS), self._whole(FEW), self._whole(ROWS, copying=True)
        high_edges, low_edges, copy = self._edges(ROWS), self._edges(FEW), self._copy()
        builder = ir.IRBuilder(made.append_basic_block())
        panel, nothing = self._panel(builder), self._nothing(builder)
        self._scale(builder, beta, c, m, n, k)
        clean = builder.fcmp_ordered("==", beta, ir.Constant(self.number, 0.0))
        a_down, a_right = self._strides(builder, swap_a, k, m)
        b_down, b_right = self._strides(builder, swap_b, n, k)
        many = builder.icmp_signed(">=", m, self._enough(builder, b, n))
        as_is = builder.not_(builder.or_(many, swap_b))
        middle = self._middle(builder, m)
        width = INT(self.columns)
        with self._steps(builder, k, self._stretch(builder, k)) as (p, depth):
            fresh = builder.and_(clean, builder.icmp_signed("==", p, INT(0)))
            tiles = builder.sdiv(INT(self.room), builder.mul(depth, width))
            step = builder.mul(tiles, width)
            # Columns that need no room are all taken at once.
            all_ = builder.and_(n, INT(-self.columns))
            more = builder.and_(as_is, builder.icmp_signed(">", all_, step))
            step = builder.select(more, all_, step)
            with self._steps(builder, n, step) as (left, across):
                corner = self._at(builder, b, [(p, b_down), (left, b_right)])
                over = builder.and_(across, INT(self.columns - 1))
                whole = builder.sub(across, over)
                ragged = builder.icmp_signed("!=", over, INT(0))
                before = builder.or_(swap_b, ragged)
                with builder.if_then(before):
                    with self._steps(builder, across, self.columns) as (j, some):
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
                    tiles_of(first_high, INT(0), INT(ROWS), there)
                copied = builder.or_(before, many)
                lines = [builder.select(copied, x, y) for x, y in zip((panel, width, depth), there)]

                def edges_of(called: Any, i: Any, rows: Any, j: Any, columns: Any) -> None:
                    base, down, right = lines
                    parts, place = start(i, j)
                    parts += [self._at(builder, base, [(j, right)]), down]
                    builder.call(called, [*parts, place, n, rows, columns, alpha, fresh])

                def some(size: Any) -> Any:
                    return builder.if_then(builder.icmp_signed(">", size, INT(0)))

                top = builder.select(early, INT(ROWS), INT(0))
                for height, called, edges, begin, end in (
                    (ROWS, high, high_edges, top, middle), (FEW, low, low_edges, middle, m),
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
                        with self._steps(builder, across, self.columns) as (j, columns):
                            edges_of(edges, builder.add(begin, rows), below, j, columns)
        builder.ret_void()

    def _nothing(self, builder: Any) -> Any:
        """A line of a tile by which nothing is changed, whatever it is added to."""
        room = builder.alloca(self.vector, self.vectors)
        line = builder.bitcast(room, self.pointer)
        for half in range(self.vectors):
            zero = ir.Constant(self.vector, [-0.0] * self.lanes)
            self._store(builder, zero, line, half)
        return line

    def _enough(self, builder: Any, b: Any, n: Any) -> Any:
        """How many rows it takes for copying to pay."""
        step = builder.mul(n, INT(self.item))
        across = builder.or_(builder.ptrtoint(b, INT), step)
        begins = builder.icmp_signed("==", builder.and_(across, INT(LINE - 1)), INT(0))
        apart = builder.icmp_signed("!=", builder.and_(step, INT(APART - 1)), INT(0))
        return builder.select(builder.and_(begins, apart), INT(MORE), INT(MANY))

    def _panel(self, builder: Any) -> Any:
        """Room for copies of columns."""
        room: Any = builder.alloca(self.vector, self.vectors * self.longest)
        room.align = 64
        return builder.bitcast(room, self.pointer)

    def _stretch(self, builder: Any, k: Any) -> Any:
        """How much of the inner axis is taken at a time: all stretches are about as long."""
        k = builder.select(builder.icmp_signed(">", k, INT(0)), k, INT(1))
        count = builder.sdiv(builder.add(k, INT(self.longest - 1)), INT(self.longest))
        length = builder.sdiv(builder.add(k, builder.sub(count, INT(1))), count)
        return builder.and_(builder.add(length, INT(EVEN - 1)), INT(-EVEN))

    def _middle(self, builder: Any, m: Any) -> Any:
        """The row from which on tiles are low, so that few rows are computed for nothing: what
        high tiles leave over, or, if that is half a low one, that and the last high one."""
        over = builder.srem(m, INT(ROWS))
        half = builder.icmp_signed("==", over, INT(2 * FEW - ROWS))
        two = builder.and_(half, builder.icmp_signed(">", m, INT(ROWS)))
        fits = builder.icmp_signed("<=", over, INT(FEW))
        below = builder.select(two, INT(2 * FEW), builder.select(fits, over, INT(0)))
        return builder.sub(m, below)

    def _scale(self, builder: Any, beta: Any, c: Any, m: Any, n: Any, k: Any) -> None:
        """What products are added to, if that is not what there is; or a sum of no products."""
        zero, one = (ir.Constant(self.number, x) for x in (0.0, 1.0))
        clean = builder.fcmp_ordered("==", beta, zero)
        kept = builder.fcmp_ordered("==", beta, one)
        none = builder.icmp_signed("<=", k, INT(0))
        wanted = builder.or_(none, builder.not_(builder.or_(clean, kept)))
        with builder.if_then(wanted, likely=False):
            with counting(builder, builder.mul(m, n)) as loop:
                place = builder.gep(c, [loop])
                scaled = builder.fmul(builder.load(place), beta, flags=FLAGS)
                builder.store(builder.select(clean, zero, scaled), place)

    def _strides(self, builder: Any, swapped: Any, width: Any, height: Any) -> tuple[Any, Any]:
        """Down and to the right, of a matrix `width` wide or, swapped, `height` wide."""
        one = INT(1)
        return builder.select(swapped, one, width), builder.select(swapped, height, one)

    # ---- columns of b

    def _copy(self) -> Any:
        """copy(b, down, right, depth, across, panel): row by row, zeros for what is missing."""
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
