"""Values with the leading axis: their types, how a common value gets the axis, how one
element is taken out, and how the elements' values are collected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..ir.builder import Builder, Sym, int_const
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    Call,
    Carried,
    Const,
    Draw,
    For,
    If,
    ListOf,
    Op,
    Operand,
    Record,
    Save,
    Scalar,
    Slot,
    Type,
    Var,
    While,
    substitute,
    walk,
)
from ..ir.symbolic_dims import Dim

_FILLED = {"zeros": "zeros", "zeros_like": "zeros", "ones": "ones", "ones_like": "ones",
           "empty": "empty", "empty_like": "empty"}  # fmt: skip


def batched_type(t: Type, size: Dim) -> Type:
    """The type of many values of type `t`, one per element."""
    if isinstance(t, ListOf):
        elem = batched_type(t.elem, size)
        assert isinstance(elem, Array)
        return ListOf(elem)
    if isinstance(t, Record):
        return replace(t, shape=(size, *t.shape))
    layout = t.layout if isinstance(t, Array) else "C"
    return Array(t.dtype, (size, *t.shape), layout)


class Values:
    """Makes such values in a builder.  `size` is the number of elements, `measure` gives the
    operand that holds a dim, or None."""

    def __init__(
        self, b: Builder, size: Sym, extent: Dim, measure: Callable[[Dim], Operand | None]
    ) -> None:
        self.b = b
        self.size = size
        self.extent = extent
        self.measure = measure

    def type(self, t: Type) -> Type:
        return batched_type(t, self.extent)

    # ---- giving the axis

    def lift(self, x: Operand, t: Type | None = None) -> Sym:
        """A value that all elements share, once for each; in the dtype of `t` if given."""
        b, t = self.b, t or x.type
        op = b.definitions.get(x.name) if isinstance(x, Var) else None
        if op is not None and op.name == "undef":
            return self._undefined(x.type)
        if isinstance(t, ListOf):
            return self._lift_list(x)
        dtype = t.dtype
        if isinstance(x, Const) and x.value == 0:
            return b.emit("zeros", self.size, dtype=dtype)
        if not isinstance(x.type, Array):
            return b.emit("full", x, self.size, dtype=dtype)
        if op is not None and op.name in _FILLED:
            return b.emit(_FILLED[op.name], self.size, *self._sizes(x), dtype=dtype)
        return b.emit("broadcast_to", b.sym(x).astype(dtype), self.size, *b.sym(x).shape)

    def _sizes(self, x: Operand) -> Sequence[Any]:
        """The sizes of an array, rather those of what it was made like."""
        op = self.b.definitions.get(x.name) if isinstance(x, Var) else None
        if op is not None and op.name in ("zeros", "ones", "empty"):
            return op.args
        like = op is not None and op.name in _FILLED
        return self._sizes(op.args[0]) if like else self.b.sym(x).shape  # type: ignore[union-attr]

    def _undefined(self, t: Type) -> Sym:
        """Values that are never really read, of any size that is not known."""
        if isinstance(t, ListOf):
            return self.b.emit("list_new", type=self.type(t))
        sizes = [self.measure(d) or 0 for d in t.shape]
        return self.b.emit("empty", self.size, *sizes, dtype=t.dtype)

    def _lift_list(self, x: Operand) -> Sym:
        b = self.b
        type_ = self.type(x.type)
        empty = b.emit("list_new", type=type_)
        op = b.definitions.get(x.name) if isinstance(x, Var) else None
        if op is not None and op.name == "list_new":
            return empty

        def add(k: Sym, so_far: Sym) -> Sym:
            return b.emit("list_append", so_far, self.lift(b.emit("list_get", x, k).operand))

        return self._over(b.emit("list_len", x), empty, add)

    def _over(self, count: Sym, start: Sym, step: Callable[[Sym, Sym], Sym]) -> Sym:
        """A loop that carries one list."""
        b = self.b
        index = self.index("k")
        phi, result = b.var(start.type, b.hint), b.var(start.type, b.hint)
        body: Block = []
        with b.into(body):
            after = step(b.sym(index), b.sym(phi)).operand
        carried = [Carried(phi, start.operand, after, result)]
        b.block.append(self.loop(index, count.operand, body, carried))
        return b.sym(result)

    def index(self, hint: str) -> Var:
        name = self.b.names.fresh(hint)
        return Var(name, Scalar("int64", value=Dim.of(name)))

    def loop(self, index: Var, count: Operand, body: Block, carried: list[Carried]) -> For:
        zero, one = int_const(0), int_const(1)
        label = self.b.names.fresh("loop")
        return For(index, zero, count, one, body, carried, label=label, origin=self.b.origin)

    # ---- one element

    def element(self, x: Operand, t: Type, at: Var, hint: str) -> Operand:
        """The value of one element, of type `t`."""
        b = self.b
        if isinstance(t, ListOf):
            return self._element_list(x, t, at)
        items = (("int", 1), *((("all",),) * t.ndim))
        one = b.emit("index", x, at, items=items, hint=hint)
        if isinstance(t, Scalar) and t.weak:
            one = b.emit("cast", one, dtype=t.dtype, weak=True, hint=hint)
        elif isinstance(t, Array) and t.ndim == 0:
            one = b.emit("pack", one, shape=(), dtype=t.dtype, hint=hint)
        if isinstance(t, Array):
            return self.typed(one, replace(t, layout=one.type.layout))
        return one.operand

    def _element_list(self, x: Operand, t: ListOf, at: Var) -> Operand:
        b = self.b

        def add(k: Sym, so_far: Sym) -> Sym:
            item = b.emit("list_get", x, k).operand
            return b.emit("list_append", so_far, self.element(item, t.elem, at, b.hint))

        return self._over(b.emit("list_len", x), b.emit("list_new", type=t), add).operand

    def typed(self, x: Sym, t: Type) -> Operand:
        """What was just emitted, with a type that says more of its shape."""
        v = x.operand
        assert isinstance(v, Var)
        last = self.b.block[-1]
        assert isinstance(last, Assign) and last.target == v
        self.b.block[-1] = replace(last, target=replace(v, type=t))
        return self.b.block[-1].target

    # ---- all elements

    def collector(self, v: Var) -> Collector:
        sizes = [None] if isinstance(v.type, ListOf) else [self.measure(d) for d in v.type.shape]
        known = [s for s in sizes if s is not None]
        return Collector(self, v, known if len(known) == len(sizes) else None)


class Collector:
    """Gathers the values of `v`, one per element, in a loop: in an array, or, where its sizes
    are not known beforehand, in a list that is stacked."""

    def __init__(self, values: Values, v: Var, sizes: list[Operand] | None) -> None:
        self.values, self.v, self.sizes = values, v, sizes
        b, t = values.b, v.type
        if isinstance(t, Array):
            t = replace(t, layout="C")
        whole = values.type(t)
        self.result = replace(v, type=whole)
        if sizes is not None:
            start = b.emit("empty", values.size, *sizes, dtype=t.dtype, hint=v.name)
            self.phi = b.var(whole, v.name)
        else:
            assert isinstance(t, Array), t
            start = b.emit("list_new", type=ListOf(t), hint=v.name)
            self.phi, self.listed = (b.var(start.type, v.name) for _ in range(2))
        self.start = start.operand
        self.after: Operand = self.start

    def add(self, value: Operand, at: Var) -> None:
        b, hint = self.values.b, self.v.name
        if self.sizes is None:
            self.after = b.emit("list_append", self.phi, value, hint=hint).operand
            return
        path = (("index", (("int", 2), *((("all",),) * self.v.type.ndim))),)
        self.after = b.emit("update", self.phi, value, at, path=path, hint=hint).operand

    def carried(self) -> Carried:
        result = self.listed if self.sizes is None else self.result
        return Carried(self.phi, self.start, self.after, result)

    def done(self) -> Var:
        """What holds all values, after the loop."""
        if self.sizes is None:
            op = Op("list_stack", (self.listed,))
            self.values.b.block.append(Assign(self.result, op, self.values.b.origin))
        return self.result


# ---------------------------------------------------------------- copies


def renamed_sizes(block: Block, symbols: dict[str, Dim]) -> Block:
    """A copy of a block whose types say `symbols` anew: sizes that differ by element are
    named after the values of one."""

    def of_type(t: Type) -> Type:
        if isinstance(t, (Array, Record)):
            return replace(t, shape=tuple(d.substitute(symbols) for d in t.shape))
        if isinstance(t, ListOf):
            return ListOf(of_type(t.elem))  # type: ignore[arg-type]
        if isinstance(t, Scalar) and t.value is not None:
            return replace(t, value=t.value.substitute(symbols))
        return t

    def of(x: Any) -> Any:
        return replace(x, type=of_type(x.type)) if isinstance(x, (Var, Slot)) else x

    def attribute(value: Any) -> Any:
        return of_type(value) if isinstance(value, (Array, ListOf, Record)) else of(value)

    block = substitute(block, of)
    for stmt in walk(block):
        if isinstance(stmt, Assign):
            attrs = {k: attribute(v) for k, v in stmt.op.attrs.items()}
            stmt.target, stmt.op = of(stmt.target), replace(stmt.op, attrs=attrs)
        elif isinstance(stmt, (Call, Draw)):
            stmt.targets = [of(v) for v in stmt.targets]
        elif isinstance(stmt, Save):
            stmt.slot = of(stmt.slot)
        elif isinstance(stmt, If):
            stmt.phis = [replace(p, target=of(p.target)) for p in stmt.phis]
        elif isinstance(stmt, (For, While)):
            stmt.carried = [replace(c, phi=of(c.phi), result=of(c.result)) for c in stmt.carried]
            stmt.trips = of(stmt.trips)
            if isinstance(stmt, For):
                stmt.index = of(stmt.index)
    return block
