"""Loops over the tiles of a product, by bands of rows (`gemm/blocked.py`).

Full tiles have a function of their own, which only multiplies and stores.  It does so little work
between two tiles that the processor hardly stalls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..llvm_utils import INT, new_function
from .tile import FLAGS, Tiles

BOOL = ir.IntType(1)


class Bands(Tiles):
    """Functions over bands of tiles.  `a` has row stride `down` and column stride `right`.  `b` has
    row stride `b_down`; the columns of a tile are adjacent, and `b_right` is the stride from one
    column to the next between tiles, which differs for columns packed into a panel."""

    name: str

    def _declare(self, name: str, kinds: list[Any]) -> Any:
        type_ = ir.FunctionType(ir.VoidType(), kinds)
        return new_function(self.module, type_, f"{self.name}.{name}.{self.suffix}", "noinline")

    def _full_tiles(self, height: int, copying: bool = False) -> Any:
        """The function whole(depth, a, down, right, b, b_down, b_right, c, c_down, rows, across,
        alpha, fresh, nothing, panel) for full tiles: `rows` and `across` are multiples of the tile
        size.  Where the result is `fresh`, the row `nothing` is added instead of the old values.
        If `copying`, the columns of `b` are also packed into the panel."""
        p, n = self.pointer, self.number
        kinds = [INT, p, INT, INT, p, INT, INT, p, INT, INT, INT, n, BOOL, p, p]
        made = self._declare(f"{'copying' if copying else 'whole'}.{height}", kinds)
        depth, a, down, right, b, b_down, b_right, c, c_down, rows, across = made.args[:11]
        alpha, fresh, nothing, panel = made.args[11:]
        builder: Any = ir.IRBuilder(made.append_basic_block())
        offsets = self._offsets(builder, height, rows, down)
        before_down = builder.select(fresh, INT(0), c_down)
        c_offsets, before_offsets = (
            [builder.mul(INT(i), step) for i in range(1, height)] for step in (c_down, before_down)
        )
        width = INT(self.columns)
        b_step, c_step = builder.mul(width, b_right), builder.select(fresh, INT(0), width)
        goal_step = builder.mul(width, depth)
        scale = self._broadcast(builder, alpha)
        with self._strips(builder, rows, height) as (i, _):
            row, line = self._at(builder, a, [(i, down)]), self._at(builder, c, [(i, c_down)])

            def product(x: Any, at: Any, goal: Any = None) -> tuple[list[Any], list[Any]]:
                return _at_offsets(builder, x, offsets), self._load_row(
                    builder, at, self.vectors, goal
                )

            def first(
                places: list[Any], meanwhile: Callable[[int, int], None] | None = None
            ) -> list[list[Any]]:
                """The first products of a tile; `meanwhile` emits code between them."""
                scalars, halves = product(row, *places)
                sums: list[list[Any]] = []
                for i, scalar in enumerate(scalars):
                    x = self._broadcast(builder, builder.load(scalar))
                    sums.append([])
                    for v, half in enumerate(halves):
                        if meanwhile:
                            meanwhile(i, v)
                        sums[-1].append(builder.fmul(x, half, flags=FLAGS))
                return sums

            begin = [line, builder.select(fresh, nothing, line), across, b]
            begin += [panel] if copying else []
            products = first(begin[3:])
            block = builder.block
            tile, between, last = (builder.append_basic_block() for _ in range(3))
            builder.branch(tile)
            builder.position_at_end(tile)
            now = [self._phi(builder, x, block) for x in begin]
            sums = [[self._phi(builder, x, block) for x in row] for row in products]
            place, before, left, *lines = now
            moving = zip([row, *lines], (right, b_down, width))
            moving = [(builder.gep(x, [step]), step) for x, step in moving]
            rest = builder.sub(depth, INT(1))
            found = self._accumulate(builder, rest, moving, product, sums)

            def keep(i: int, v: int) -> None:
                there = _at_offsets(builder, before, before_offsets[i - 1 : i])[-1]
                goal = _at_offsets(builder, place, c_offsets[i - 1 : i])[-1]
                value = self._fused(builder, scale, found[i][v], self._load(builder, there, v))
                self._store(builder, value, goal, v)

            fewer = builder.sub(left, width)
            builder.cbranch(builder.icmp_signed(">", fewer, INT(0)), between, last)

            # Stores in one sequence would stall the products after them, so they are interleaved.
            builder.position_at_end(between)
            lines = [builder.gep(x, [step]) for x, step in zip(lines, (b_step, goal_step))]
            products = first(lines, keep)
            after = [builder.gep(place, [width]), builder.gep(before, [c_step]), fewer, *lines]
            for phi, value in zip(now, after):
                phi.add_incoming(value, between)
            for old, new in zip(sums, products):
                for phi, value in zip(old, new):
                    phi.add_incoming(value, between)
            builder.branch(tile)

            builder.position_at_end(last)
            for i in range(height):
                for v in range(self.vectors):
                    keep(i, v)
        builder.ret_void()
        return made

    def _partial_tiles(self, height: int) -> Any:
        """The function edges(depth, a, down, right, b, b_down, c, c_down, rows, columns, alpha,
        fresh) for partial tiles: fewer columns or fewer rows than a tile has.  `rows` is less than
        the height of a tile, or a multiple of it."""
        p, n = self.pointer, self.number
        kinds = [INT, p, INT, INT, p, INT, p, INT, INT, INT, n, BOOL]
        made = self._declare(f"edges.{height}", kinds)
        depth, a, down, right, b, b_down, c, c_down, rows, columns, alpha, fresh = made.args
        builder: Any = ir.IRBuilder(made.append_basic_block())
        offsets = self._offsets(builder, height, rows, down)
        all_rows = builder.icmp_signed(">=", rows, INT(height))
        # The remainder of the columns is often one vector wide.
        slim = builder.icmp_signed("<=", columns, INT(self.lanes))
        how = alpha, fresh
        with self._strips(builder, rows, height) as (i, _):
            row, place = self._at(builder, a, [(i, down)]), self._at(builder, c, [(i, c_down)])
            with builder.if_else(slim) as branches:
                for branch, vectors in zip(branches, (1, self.vectors)):
                    with branch:

                        def product(x: Any, at: Any, count: int = vectors) -> Any:
                            return _at_offsets(builder, x, offsets), self._load_row(
                                builder, at, count
                            )

                        moving, zeros = [(row, right), (b, b_down)], self._zeros(height, vectors)
                        sums = self._accumulate(builder, depth, moving, product, zeros)
                        with builder.if_else(all_rows) as (inside, edge):
                            with inside:
                                self._store_columns(builder, sums, place, c_down, columns, how)
                            with edge:
                                self._store_part(builder, sums, place, c_down, rows, columns, how)
        builder.ret_void()
        return made

    def _offsets(self, builder: Any, height: int, rows: Any, down: Any) -> list[Any]:
        """The offsets of the other rows of a tile from its first one.  Missing rows get the offset
        of the last row; they are computed and not stored.  (Full tiles have all rows.  But if LLVM
        saw that the steps are equal, it would compute each address from the one before, which is a
        chain of dependent additions.)"""
        offsets = []
        for i in range(1, height):
            beyond = builder.icmp_signed(">=", INT(i), rows)
            row = builder.select(beyond, builder.sub(rows, INT(1)), INT(i))
            offsets.append(builder.mul(row, down))
        return offsets


def _at_offsets(builder: Any, first: Any, offsets: list[Any]) -> list[Any]:
    """An address, and the addresses at some offsets from it."""
    return [first, *(builder.gep(first, [offset]) for offset in offsets)]
