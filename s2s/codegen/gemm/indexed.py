"""Products of a matrix whose elements lie anywhere with one that lies in rows, by tiles.

    c = A @ b   or   c += A @ b,   where A[i, p] = a[rows[i] + columns[p]]

A tile of some rows and one or two vectors of columns is accumulated over a stretch of the inner
axis, as in `blocked`; nothing of A is ever copied.  Of `b` only what a vector would read beyond its
end is, and what lies far apart in memory while many rows are to come.  Every element is the sum of
its products in order, stretch by stretch, whatever the shape of tiles.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..llvm_utils import INT
from .blocked import BOOL, MANY, Gemm
from .tile import FLAGS

NAME = "s2s.scattered"
TABLE = INT.as_pointer()
# Rows and vectors of a tile that is one vector wide, and of others: as many sums as there are
# registers for.
NARROW, WIDE = (7, 1), (6, 2)


def is_used(module: Any) -> bool:
    """Whether a module of LLVM multiplies so.  Then it has loops over a few channels, too, which
    LLVM writes out; it takes another pass of its for neighbours to be computed at once."""
    return any(f.name.startswith(NAME) for f in module.functions)


class Scattered(Gemm):
    """The function for one type of numbers, in a module."""

    name = NAME

    def _kinds(self) -> list[Any]:
        """gemm_at(a, rows, columns, b, add, c, m, n, k)"""
        return [self.pointer, TABLE, TABLE, self.pointer, BOOL, self.pointer, INT, INT, INT]

    def _write(self, made: Any) -> None:
        builder = ir.IRBuilder(made.append_basic_block())
        *_, add, c, m, n, k = made.args
        beta = builder.uitofp(add, self.number)
        self._scale(builder, beta, c, m, n, k)
        narrow = builder.icmp_signed("<=", n, INT(self.lanes))
        with builder.if_else(narrow) as ways:
            for way, shape in zip(ways, (NARROW, WIDE)):
                with way:
                    builder.call(self._of_shape(*shape), made.args)
        builder.ret_void()

    # ---- loops over tiles

    def _of_shape(self, rows: int, vectors: int) -> Any:
        self.rows, self.vectors, self.columns = rows, vectors, vectors * self.lanes
        width = INT(self.columns)
        made = self._declare(f"{rows}", self._kinds())
        a, row_table, column_table, b, add, c, m, n, k = made.args
        tile, copy = self._tile_at(), self._copy()
        builder = ir.IRBuilder(made.append_basic_block())
        panel = self._panel(builder)
        far = builder.icmp_signed(">", n, width)
        far = builder.and_(far, builder.icmp_signed(">=", m, INT(MANY)))
        end = builder.mul(k, n)
        with self._steps(builder, k, self._stretch(builder, k)) as (start, depth):
            fresh = builder.icmp_signed("==", start, INT(0))
            fresh = builder.and_(fresh, builder.not_(add))
            with self._steps(builder, n, self.columns) as (j, across):
                corner = self._at(builder, b, [(start, n), (j, INT(1))])
                # The rows of which a whole tile's width can be read.
                over = builder.sub(builder.sub(end, builder.add(j, width)), builder.mul(start, n))
                safe = builder.add(builder.sdiv(over, n), INT(1))
                none = builder.or_(far, builder.icmp_signed("<", over, INT(0)))
                all_ = builder.icmp_signed(">", safe, depth)
                direct = builder.select(none, INT(0), builder.select(all_, depth, safe))
                rest = self._at(builder, corner, [(direct, n)])
                left = builder.sub(depth, direct)
                builder.call(copy, [rest, n, INT(1), left, across, panel])
                with self._steps(builder, m, rows) as (i, down):
                    place = self._at(builder, c, [(i, n), (j, INT(1))])
                    # Whether there is an element of `c` wherever a whole tile has one.
                    behind = builder.sub(m, builder.add(i, INT(rows)))
                    behind = builder.sub(builder.add(builder.mul(behind, n), n), j)
                    whole = builder.icmp_signed(">=", behind, width)
                    whole = builder.and_(whole, builder.icmp_signed("==", down, INT(rows)))
                    builder.call(
                        tile,
                        [depth, a, builder.gep(row_table, [i]), builder.gep(column_table, [start]),
                         corner, n, direct, panel, place, down, across, fresh, whole],
                    )  # fmt: skip
        builder.ret_void()
        return made

    # ---- a tile

    def _tile_at(self) -> Any:
        """tile(depth, a, rows, columns, b, n, direct, panel, c, down, across, fresh, whole)"""
        p = self.pointer
        kinds = [INT, p, TABLE, TABLE, p, INT, INT, p, p, INT, INT, BOOL, BOOL]
        made = self._declare(f"tile.{self.rows}", kinds)
        depth, a, rows, columns, b, n, direct, panel, c, down, across, fresh, whole = made.args
        builder: Any = ir.IRBuilder(made.append_basic_block())
        starts = []
        for i in range(self.rows):
            # Rows that are not there are computed as the last one is, and not kept.
            beyond = builder.icmp_signed(">=", INT(i), down)
            row = builder.select(beyond, builder.sub(down, INT(1)), INT(i))
            starts.append(builder.gep(a, [builder.load(builder.gep(rows, [row]))]))

        def product(table: Any, line: Any) -> tuple[list[Any], list[Any]]:
            far = builder.load(table)
            return [builder.gep(s, [far]) for s in starts], self._line(builder, line, self.vectors)

        # First what can be read from where it lies, then what is copied.
        sums = self._zeros(self.rows, self.vectors)
        one = INT(1)
        sums = self._accumulate(builder, direct, [(columns, one), (b, n)], product, sums)
        rest, left = builder.gep(columns, [direct]), builder.sub(depth, direct)
        width = INT(self.columns)
        sums = self._accumulate(builder, left, [(rest, one), (panel, width)], product, sums)
        with builder.if_else(whole) as (inside, edge):
            with inside:
                self._keep_rows(builder, sums, c, n, across, fresh)
            with edge:
                one = ir.Constant(self.number, 1.0)
                self._keep_part(builder, sums, c, n, down, across, (one, fresh))
        builder.ret_void()
        return made

    def _keep_rows(
        self, builder: Any, sums: list[list[Any]], c: Any, n: Any, across: Any, fresh: Any
    ) -> None:
        """Vectors may hold more columns than are left: those of the next row, which is written
        later or has its own value again."""
        lines = [builder.gep(c, [builder.mul(INT(i), n)]) for i in range(self.rows)]
        width = INT(self.columns)
        fits = builder.icmp_signed("==", across, width)
        only = builder.icmp_signed("<=", n, width)
        with builder.if_else(builder.and_(fresh, builder.or_(fits, only))) as (new, old):
            with new:
                for line, row in zip(lines, sums):
                    for v, value in enumerate(row):
                        self._store(builder, value, line, v)
            with old:
                there = [[self._load(builder, x, v) for v in range(self.vectors)] for x in lines]
                kept = [self._columns_before(builder, across, v) for v in range(self.vectors)]
                for line, row, before in zip(lines, sums, there):
                    for v, value in enumerate(row):
                        more = builder.fadd(before[v], value, flags=FLAGS)
                        more = builder.select(fresh, value, more)
                        self._store(builder, builder.select(kept[v], more, before[v]), line, v)

    def _columns_before(self, builder: Any, across: Any, v: int) -> Any:
        """Which elements of vector `v` of a row are columns of the product."""
        small = ir.IntType(self.item * 8)
        lanes = ir.VectorType(small, self.lanes)
        order = ir.Constant(lanes, [v * self.lanes + e for e in range(self.lanes)])
        wanted = builder.trunc(across, small) if self.item < 8 else across
        return builder.icmp_signed("<", order, self._spread(builder, wanted, lanes))
