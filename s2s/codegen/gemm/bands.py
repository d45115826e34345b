"""Tiles of a product side by side and below each other (`codegen.gemm.blocked`).

Whole tiles have a function of their own, which does nothing but multiply and keep: between two
tiles, so little is to be done that the processor hardly waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from ..llvm_utils import INT, new_function
from .tile import FLAGS, Tiles

BOOL = ir.IntType(1)


class Bands(Tiles):
    """Functions for rows of `a`, each row `down` from the one before, its numbers `right` from each
    other, and columns that lie side by side in lines, each `b_down` from the one before; a column
    is `b_right` from the one before, of those that are copied for columns of tiles."""

    name: str

    def _declare(self, name: str, kinds: list[Any]) -> Any:
        type_ = ir.FunctionType(ir.VoidType(), kinds)
        return new_function(self.module, type_, f"{self.name}.{name}.{self.suffix}", "noinline")

    def _whole(self, height: int, copying: bool = False) -> Any:
        """whole(depth, a, down, right, b, b_down, b_right, c, c_down, rows, across, alpha, fresh,
        nothing, panel): as many rows and columns as tiles have, or several times that.  A line of
        `nothing` is added where the result is `fresh`.  What is `copying` leaves the columns in
        the panel."""
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
        scale = self._spread(builder, alpha)
        with self._steps(builder, rows, height) as (i, _):
            row, line = self._at(builder, a, [(i, down)]), self._at(builder, c, [(i, c_down)])

            def product(x: Any, at: Any, goal: Any = None) -> tuple[list[Any], list[Any]]:
                return _others(builder, x, offsets), self._line(builder, at, self.vectors, goal)

            def first(
                places: list[Any], meanwhile: Callable[[int, int], None] | None = None
            ) -> list[list[Any]]:
                """The first products of a tile."""
                numbers, halves = product(row, *places)
                sums: list[list[Any]] = []
                for i, number in enumerate(numbers):
                    x = self._spread(builder, builder.load(number))
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
                there = _others(builder, before, before_offsets[i - 1 : i])[-1]
                goal = _others(builder, place, c_offsets[i - 1 : i])[-1]
                value = self._fused(builder, scale, found[i][v], self._load(builder, there, v))
                self._store(builder, value, goal, v)

            fewer = builder.sub(left, width)
            builder.cbranch(builder.icmp_signed(">", fewer, INT(0)), between, last)

            # Stores that come in one go hold up the products after them, so they come in between.
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

    def _edges(self, height: int) -> Any:
        """edges(depth, a, down, right, b, b_down, c, c_down, rows, columns, alpha, fresh): less
        columns than a tile has, or less rows."""
        p, n = self.pointer, self.number
        kinds = [INT, p, INT, INT, p, INT, p, INT, INT, INT, n, BOOL]
        made = self._declare(f"edges.{height}", kinds)
        depth, a, down, right, b, b_down, c, c_down, rows, columns, alpha, fresh = made.args
        builder: Any = ir.IRBuilder(made.append_basic_block())
        offsets = self._offsets(builder, height, rows, down)
        all_rows = builder.icmp_signed(">=", rows, INT(height))
        # What is left over on the right is often one vector wide.
        slim = builder.icmp_signed("<=", columns, INT(self.lanes))
        how = alpha, fresh
        with self._steps(builder, rows, height) as (i, _):
            row, place = self._at(builder, a, [(i, down)]), self._at(builder, c, [(i, c_down)])
            with builder.if_else(slim) as ways:
                for way, vectors in zip(ways, (1, self.vectors)):
                    with way:

                        def product(x: Any, at: Any, count: int = vectors) -> Any:
                            return _others(builder, x, offsets), self._line(builder, at, count)

                        moving, zeros = [(row, right), (b, b_down)], self._zeros(height, vectors)
                        sums = self._accumulate(builder, depth, moving, product, zeros)
                        with builder.if_else(all_rows) as (inside, edge):
                            with inside:
                                self._keep_columns(builder, sums, place, c_down, columns, how)
                            with edge:
                                self._keep_part(builder, sums, place, c_down, rows, columns, how)
        builder.ret_void()
        return made

    def _offsets(self, builder: Any, height: int, rows: Any, down: Any) -> list[Any]:
        """How far the other rows of a tile are from its first one.  Rows that are not there are
        computed as the last one is, and not kept.  (In whole tiles there are all; but if the
        optimiser knew of equal steps, it would go from one to the next, and wait for each.)"""
        offsets = []
        for i in range(1, height):
            beyond = builder.icmp_signed(">=", INT(i), rows)
            row = builder.select(beyond, builder.sub(rows, INT(1)), INT(i))
            offsets.append(builder.mul(row, down))
        return offsets


def _others(builder: Any, first: Any, offsets: list[Any]) -> list[Any]:
    """A place, and others that lie at some offsets from it."""
    return [first, *(builder.gep(first, [offset]) for offset in offsets)]
