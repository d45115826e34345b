"""Indexed matrix product: the left matrix is gathered by index tables, the right one is row-major.

    c = A @ b   or   c += A @ b,   where A[i, p] = a[rows[i] + columns[p]]

A tile of some rows and one or two vectors of columns is accumulated over a block of the inner axis,
as in `blocked.py`.  A is never copied.  Of `b`, only the rows are packed of which a vector load
would read beyond the end of `b`, and all rows if they are longer than a tile is wide and there are
many rows of `c`.  Every element is the sum of its products in order, block by block, whatever the
tile shape.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ..llvm_utils import INT
from .blocked import BOOL, MIN_ROWS_TO_PACK, Gemm
from .tile import FLAGS

NAME = "s2s.scattered"
INDEX_TABLE = INT.as_pointer()
# (rows, vectors) of a tile that is one vector wide, and of others: as many accumulators as fit into
# registers.
NARROW_TILE, WIDE_TILE = (7, 1), (6, 2)


def is_used(module: Any) -> bool:
    """True if an LLVM module uses the indexed product.  Then it also has loops over a few channels,
    which LLVM unrolls; the SLP vectoriser is needed to vectorise the unrolled code."""
    return any(f.name.startswith(NAME) for f in module.functions)


class Scattered(Gemm):
    """Emitter of the gemm_at function for one dtype, in a module."""

    name = NAME

    def _kinds(self) -> list[Any]:
        """The parameter types of gemm_at(a, rows, columns, b, add, c, m, n, k)."""
        return [
            self.pointer,
            INDEX_TABLE,
            INDEX_TABLE,
            self.pointer,
            BOOL,
            self.pointer,
            INT,
            INT,
            INT,
        ]

    def _write(self, made: Any) -> None:
        builder = ir.IRBuilder(made.append_basic_block())
        *_, add, c, m, n, k = made.args
        beta = builder.uitofp(add, self.number)
        self._scale(builder, beta, c, m, n, k)
        narrow = builder.icmp_signed("<=", n, INT(self.lanes))
        with builder.if_else(narrow) as branches:
            for branch, shape in zip(branches, (NARROW_TILE, WIDE_TILE)):
                with branch:
                    builder.call(self._product_of_shape(*shape), made.args)
        builder.ret_void()

    # ---- loops over tiles

    def _product_of_shape(self, rows: int, vectors: int) -> Any:
        self.rows, self.vectors, self.columns = rows, vectors, vectors * self.lanes
        width = INT(self.columns)
        made = self._declare(f"{rows}", self._kinds())
        a, row_table, column_table, b, add, c, m, n, k = made.args
        tile, copy = self._tile_function(), self._copy()
        builder = ir.IRBuilder(made.append_basic_block())
        panel = self._panel(builder)
        far = builder.icmp_signed(">", n, width)
        far = builder.and_(far, builder.icmp_signed(">=", m, INT(MIN_ROWS_TO_PACK)))
        end = builder.mul(k, n)
        with self._strips(builder, k, self._block_depth(builder, k)) as (start, depth):
            fresh = builder.icmp_signed("==", start, INT(0))
            fresh = builder.and_(fresh, builder.not_(add))
            with self._strips(builder, n, self.columns) as (j, across):
                corner = self._at(builder, b, [(start, n), (j, INT(1))])
                # The number of rows of which a full tile width can be read.
                over = builder.sub(builder.sub(end, builder.add(j, width)), builder.mul(start, n))
                safe = builder.add(builder.sdiv(over, n), INT(1))
                none = builder.or_(far, builder.icmp_signed("<", over, INT(0)))
                all_ = builder.icmp_signed(">", safe, depth)
                direct = builder.select(none, INT(0), builder.select(all_, depth, safe))
                rest = self._at(builder, corner, [(direct, n)])
                left = builder.sub(depth, direct)
                builder.call(copy, [rest, n, INT(1), left, across, panel])
                with self._strips(builder, m, rows) as (i, down):
                    place = self._at(builder, c, [(i, n), (j, INT(1))])
                    # Whether a full tile lies within the memory of `c`.
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

    def _tile_function(self) -> Any:
        """The function tile(depth, a, rows, columns, b, n, direct, panel, c, down, across, fresh,
        whole)."""
        p = self.pointer
        kinds = [INT, p, INDEX_TABLE, INDEX_TABLE, p, INT, INT, p, p, INT, INT, BOOL, BOOL]
        made = self._declare(f"tile.{self.rows}", kinds)
        depth, a, rows, columns, b, n, direct, panel, c, down, across, fresh, whole = made.args
        builder: Any = ir.IRBuilder(made.append_basic_block())
        starts = []
        for i in range(self.rows):
            # Missing rows are computed as copies of the last row and not stored.
            beyond = builder.icmp_signed(">=", INT(i), down)
            row = builder.select(beyond, builder.sub(down, INT(1)), INT(i))
            starts.append(builder.gep(a, [builder.load(builder.gep(rows, [row]))]))

        def product(table: Any, line: Any) -> tuple[list[Any], list[Any]]:
            far = builder.load(table)
            return [builder.gep(s, [far]) for s in starts], self._load_row(
                builder, line, self.vectors
            )

        # First the rows of `b` that are read in place, then the packed ones.
        sums = self._zeros(self.rows, self.vectors)
        one = INT(1)
        sums = self._accumulate(builder, direct, [(columns, one), (b, n)], product, sums)
        rest, left = builder.gep(columns, [direct]), builder.sub(depth, direct)
        width = INT(self.columns)
        sums = self._accumulate(builder, left, [(rest, one), (panel, width)], product, sums)
        with builder.if_else(whole) as (inside, edge):
            with inside:
                self._store_rows(builder, sums, c, n, across, fresh)
            with edge:
                one = ir.Constant(self.number, 1.0)
                self._store_part(builder, sums, c, n, down, across, (one, fresh))
        builder.ret_void()
        return made

    def _store_rows(
        self, builder: Any, sums: list[list[Any]], c: Any, n: Any, across: Any, fresh: Any
    ) -> None:
        """Store full vectors.  They may extend into the next row of `c`, whose elements are written
        later or are stored with their old value."""
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
                kept = [self._column_mask(builder, across, v) for v in range(self.vectors)]
                for line, row, before in zip(lines, sums, there):
                    for v, value in enumerate(row):
                        more = builder.fadd(before[v], value, flags=FLAGS)
                        more = builder.select(fresh, value, more)
                        self._store(builder, builder.select(kept[v], more, before[v]), line, v)

    def _column_mask(self, builder: Any, across: Any, v: int) -> Any:
        """The mask of the elements of vector `v` of a row that are columns of the product."""
        small = ir.IntType(self.item * 8)
        lanes = ir.VectorType(small, self.lanes)
        order = ir.Constant(lanes, [v * self.lanes + e for e in range(self.lanes)])
        wanted = builder.trunc(across, small) if self.item < 8 else across
        return builder.icmp_signed("<", order, self._broadcast(builder, wanted, lanes))
