"""The derivative of `prod`: for each element the product of all others, without division.

It is a prefix product times a suffix product, so it is exact with zeros and can be differentiated
again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...ir.builder import Builder, Sym
from ...ir.nodes import Array, Carried, For, Scalar, Type, Var
from ...ir.symbolic_dims import Dim
from ..axes_and_sizes import product, size_of


def product_of_others(b: Builder, x: Sym, axes: tuple[int, ...]) -> Sym:
    """An array of the shape of x: along `axes`, the product of all elements but this one."""
    rest = [i for i in range(x.ndim) if i not in axes]
    order = (*axes, *rest)
    moved = x if order == tuple(range(x.ndim)) else b.emit("transpose", x, axes=order)
    sizes = [size_of(b, moved, i) for i in range(x.ndim)]
    count = product(sizes[: len(axes)])
    rows = moved
    if len(axes) > 1:
        rows = b.emit("reshape", moved, count, *sizes[len(axes) :])
    others = _others_along_rows(b, rows, count, sizes[len(axes) :])
    if len(axes) > 1:
        others = b.emit("reshape", others, *sizes)
    if moved is x:
        return others
    return b.emit("transpose", others, axes=tuple(order.index(i) for i in range(x.ndim)))


def _others_along_rows(b: Builder, rows: Sym, count: Any, sizes: list[Any]) -> Sym:
    """The exclusive prefix product of the rows, times their exclusive suffix product."""
    if sizes:
        one: Any = b.emit("ones", *sizes, dtype=rows.dtype)
    else:
        one = b.sym(np.dtype(rows.dtype).type(1))
    uninitialised = b.emit("empty_like", rows, dtype=rows.dtype)

    def before(i: Sym, others: Sym, so_far: Sym) -> tuple[Sym, Sym]:
        return _with_row(b, others, i, so_far), so_far * _row(b, rows, i)

    def after(i: Sym, others: Sym, so_far: Sym) -> tuple[Sym, Sym]:
        both = _row(b, others, i) * so_far
        return _with_row(b, others, i, both), so_far * _row(b, rows, i)

    lower = _loop(b, count, (uninitialised, one), before)
    return _loop(b, count, (lower, one), after, reverse=True)


def _row(b: Builder, x: Sym, i: Sym) -> Sym:
    return b.emit("index", x, i, items=(("int", 1), *[("all",)] * (x.ndim - 1)))


def _with_row(b: Builder, x: Sym, i: Sym, value: Sym) -> Sym:
    items = (("int", 2), *[("all",)] * (x.ndim - 1))
    return b.emit("update", x, value, i, path=(("index", items),))


def _loop(b: Builder, count: Any, state: tuple[Sym, Sym], step: Any, reverse: bool = False) -> Sym:
    """Emit a loop over row indices that carries two values; returns the first one's result."""
    index = _fresh(b, Scalar("int64", weak=True), "i")
    phis = [_fresh(b, s.type, "t") for s in state]
    body: list[Any] = []
    with b.into(body):
        following = step(b.sym(index), *(b.sym(p) for p in phis))
    results = [_fresh(b, s.type, "t") for s in state]
    carried = [
        Carried(phi, init.operand, new.operand, result)
        for phi, init, new, result in zip(phis, state, following, results, strict=True)
    ]
    zero, one, stop = (b.sym(v).operand for v in (0, 1, count))
    loop = For(index, zero, stop, one, body, carried, reverse=reverse, origin=b.origin)
    loop.label = b.names.fresh("prod")
    b.block.append(loop)
    return b.sym(results[0])


def _fresh(b: Builder, type_: Type, hint: str) -> Var:
    """A new variable; an int64 is its own symbolic value, an array is C-contiguous."""
    var = b.var(type_, hint)
    if isinstance(type_, Scalar) and type_.dtype == "int64":
        return replace(var, type=replace(type_, value=Dim.of(var.name)))
    if isinstance(type_, Array):
        return replace(var, type=replace(type_, layout="C"))
    return var
