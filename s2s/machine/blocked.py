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
from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir

from .tiles import FLAGS, Tiles
from .writing import INT, counting, declared, new_function

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
BOOL = ir.IntType(1)


def width(features: str) -> int:
    """Bytes of a vector on a machine with these features."""
    names = set(features.split(","))
    if "+avx512f" in names:
        return 64
    return 32 if "+avx" in names else 16


class Gemm(Tiles):
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

    def _declare(self, name: str, kinds: list[Any]) -> Any:
        type_ = ir.FunctionType(ir.VoidType(), kinds)
        return new_function(self.module, type_, name, "noinline")

    # ---- loops over tiles

    def _write(self, made: Any) -> None:
        swap_a, swap_b, alpha, a, b, beta, c, m, n, k = made.args
        high, low, first_high = self._band(ROWS), self._band(FEW), self._band(ROWS, copying=True)
        copy = self._copy()
        builder = ir.IRBuilder(made.append_basic_block())
        panel = self._panel(builder)
        self._scale_only(builder, beta, c, m, n, k)
        a_down, a_right = self._strides(builder, swap_a, k, m)
        b_down, b_right = self._strides(builder, swap_b, n, k)
        many = builder.icmp_signed(">=", m, self._enough(builder, b, n))
        middle = self._middle(builder, m)
        width = INT(self.columns)
        with self._steps(builder, k, self._stretch(builder, k)) as (p, depth):
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
        one = ir.Constant(n, 1.0)
        factor = builder.select(first, beta, one)
        how = alpha, fresh, factor
        # Whether what is kept takes no more than one step for each vector.
        brief = builder.fcmp_ordered("==", builder.select(fresh, alpha, factor), one)
        brief = builder.and_(brief, whole_rows)
        tile, last, again, between, done = (builder.append_basic_block() for _ in range(5))
        with builder.goto_block(tile):
            j = builder.phi(INT)
            begin = [[builder.phi(self.vector) for _ in range(self.vectors)] for _ in starts]

        def line(j: Any) -> Callable[[Any], Any]:
            here = self._at(builder, b, [(j, b_right)])
            return lambda p: self._at(builder, here, [(p, b_down)])

        def goal(j: Any) -> Any:
            return self._at(builder, panel, [(j, depth)]) if copying else None

        def start(at: Any, meanwhile: Callable[[int, int], None] | None = None) -> None:
            """The first products of a tile, at `at`."""
            halves = self._line(builder, line(at)(INT(0)), goal(at), self.vectors)
            for i, row in enumerate(begin):
                x = self._spread(builder, builder.load(starts[i]))
                for half, phi in enumerate(row):
                    if meanwhile:
                        meanwhile(i, half)
                    phi.add_incoming(builder.fmul(x, halves[half], flags=FLAGS), builder.block)
            j.add_incoming(at, builder.block)
            builder.branch(tile)

        def along(p: Any) -> Any:
            return builder.mul(p, right)

        # What is left over on the right is often one vector wide.
        rest = builder.and_(across, INT(self.columns - 1))
        slim = builder.icmp_unsigned("<", builder.sub(rest, INT(1)), INT(self.lanes))
        wide = across if copying else builder.select(slim, builder.sub(across, rest), across)
        with builder.if_then(builder.icmp_signed("==", wide, INT(0))):
            builder.branch(done)
        start(INT(0))
        builder.position_at_end(tile)
        place = builder.gep(c, [j])
        sums = self._accumulate(
            builder, depth, starts, along, line(j), begin=begin, first=1, copy=goal(j)
        )
        left = builder.sub(wide, j)
        after = builder.add(j, INT(self.columns))
        more = builder.icmp_signed(">", left, INT(self.columns))
        builder.cbranch(builder.and_(brief, more), between, last)

        # Stores that come in one go hold up the products after them, so they come in between.
        builder.position_at_end(between)
        lines = [builder.gep(place, [builder.mul(INT(i), c_down)]) for i in range(height)]

        def keep(i: int, half: int) -> None:
            self._store(builder, sums[i][half], lines[i], half)

        def add(i: int, half: int) -> None:
            there = self._load(builder, lines[i], half)
            value = self._fused(builder, self._spread(builder, alpha), sums[i][half], there)
            self._store(builder, value, lines[i], half)

        ways = [builder.append_basic_block() for _ in range(2)]
        builder.cbranch(fresh, *ways)
        for way, meanwhile in zip(ways, (keep, add)):
            builder.position_at_end(way)
            start(after, meanwhile)

        builder.position_at_end(last)
        full = builder.icmp_signed(">=", left, INT(self.columns))
        columns = builder.select(full, INT(self.columns), left)
        with builder.if_else(whole_rows) as (inside, edge):
            with inside:
                with builder.if_else(full) as (all_, some):
                    with all_:
                        self._keep_whole(builder, sums, place, c_down, how)
                    with some:
                        self._keep_columns(builder, sums, place, c_down, columns, how)
            with edge:
                self._keep_part(builder, sums, place, c_down, rows, columns, how)
        builder.cbranch(more, again, done)
        builder.position_at_end(again)
        start(after)
        builder.position_at_end(done)
        if not copying:
            with builder.if_then(slim):
                place, zero = builder.gep(c, [wide]), ir.Constant(self.vector, [0.0] * self.lanes)
                sums = self._accumulate(
                    builder, depth, starts, along, line(wide), begin=[[zero] for _ in starts]
                )
                with builder.if_else(whole_rows) as (inside, edge):
                    with inside:
                        self._keep_columns(builder, sums, place, c_down, rest, how)
                    with edge:
                        self._keep_part(builder, sums, place, c_down, rows, rest, how)
        builder.ret_void()
        return made
