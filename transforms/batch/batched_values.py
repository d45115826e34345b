"""Values with the batch axis: their types, construction and decomposition.

`BatchBuilder` broadcasts an unbatched value along the batch axis and extracts the value of one
batch element.  `Collector` gathers the values that a loop over the batch elements computes.
"""

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

# Constructors of constant arrays, and the operation that makes such an array of a given shape.
_FILLED = {"zeros": "zeros", "zeros_like": "zeros", "ones": "ones", "ones_like": "ones",
           "empty": "empty", "empty_like": "empty"}  # fmt: skip


def batched_type(t: Type, size: Dim) -> Type:
    """The type of a batch of values of type `t`: `t` with a leading axis of `size`."""
    if isinstance(t, ListOf):
        elem = batched_type(t.elem, size)
        assert isinstance(elem, Array)
        return ListOf(elem)
    if isinstance(t, Record):
        return replace(t, shape=(size, *t.shape))
    layout = t.layout if isinstance(t, Array) else "C"
    return Array(t.dtype, (size, *t.shape), layout)


class BatchBuilder:
    """Builds batched values in a builder.

    `size` is the batch size as a value, `extent` symbolically.  `measure` returns the operand that
    holds a dim, or None.
    """

    def __init__(
        self, b: Builder, size: Sym, extent: Dim, measure: Callable[[Dim], Operand | None]
    ) -> None:
        self.b = b
        self.size = size
        self.extent = extent
        self.measure = measure

    def type(self, t: Type) -> Type:
        return batched_type(t, self.extent)

    # ---- adding the batch axis

    def lift(self, x: Operand, t: Type | None = None) -> Sym:
        """An unbatched value, broadcast along the batch axis; in the dtype of `t` if given."""
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
        """The sizes of an array, taken from its constructor's operands where possible."""
        op = self.b.definitions.get(x.name) if isinstance(x, Var) else None
        if op is not None and op.name in ("zeros", "ones", "empty"):
            return op.args
        like = op is not None and op.name in _FILLED
        return self._sizes(op.args[0]) if like else self.b.sym(x).shape  # type: ignore[union-attr]

    def _undefined(self, t: Type) -> Sym:
        """A batched undefined value, which is never read; unknown sizes are 0."""
        if isinstance(t, ListOf):
            return self.b.emit("list_new", type=self.type(t))
        sizes = [self.measure(d) or 0 for d in t.shape]
        return self.b.emit("empty", self.size, *sizes, dtype=t.dtype)

    def _lift_list(self, x: Operand) -> Sym:
        """A list whose elements are those of `x`, each broadcast along the batch axis."""
        b = self.b
        type_ = self.type(x.type)
        empty = b.emit("list_new", type=type_)
        op = b.definitions.get(x.name) if isinstance(x, Var) else None
        if op is not None and op.name == "list_new":
            return empty

        def add(k: Sym, so_far: Sym) -> Sym:
            return b.emit("list_append", so_far, self.lift(b.emit("list_get", x, k).operand))

        return self._list_loop(b.emit("list_len", x), empty, add)

    def _list_loop(self, count: Sym, start: Sym, step: Callable[[Sym, Sym], Sym]) -> Sym:
        """Emit a loop of `count` iterations that carries one list; the list after the loop."""
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
        """A new loop index."""
        name = self.b.names.fresh(hint)
        return Var(name, Scalar("int64", value=Dim.of(name)))

    def loop(self, index: Var, count: Operand, body: Block, carried: list[Carried]) -> For:
        """A loop from 0 to `count`."""
        zero, one = int_const(0), int_const(1)
        label = self.b.names.fresh("loop")
        return For(index, zero, count, one, body, carried, label=label, origin=self.b.origin)

    # ---- the value of one batch element

    def element(self, x: Operand, t: Type, at: Var, hint: str) -> Operand:
        """The value of the batch element at index `at`, of type `t`."""
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
        """The list of one batch element."""
        b = self.b

        def add(k: Sym, so_far: Sym) -> Sym:
            item = b.emit("list_get", x, k).operand
            return b.emit("list_append", so_far, self.element(item, t.elem, at, b.hint))

        return self._list_loop(b.emit("list_len", x), b.emit("list_new", type=t), add).operand

    def typed(self, x: Sym, t: Type) -> Operand:
        """The value emitted last, with the more precise type `t`."""
        v = x.operand
        assert isinstance(v, Var)
        last = self.b.block[-1]
        assert isinstance(last, Assign) and last.target == v
        self.b.block[-1] = replace(last, target=replace(v, type=t))
        return self.b.block[-1].target

    # ---- collecting the values of all batch elements

    def collector(self, v: Var) -> Collector:
        """A collector for the values of `v`; into an array if the sizes of `v` are known."""
        sizes = [None] if isinstance(v.type, ListOf) else [self.measure(d) for d in v.type.shape]
        known = [s for s in sizes if s is not None]
        return Collector(self, v, known if len(known) == len(sizes) else None)


class Collector:
    """Collects the values of `v` in a loop over the batch elements.

    They are stored in an array.  If the sizes of `v` are not known before the loop, they are
    appended to a list, which is stacked after the loop.
    """

    def __init__(self, values: BatchBuilder, v: Var, sizes: list[Operand] | None) -> None:
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
        """Emit, in the loop body, the store of the value of the batch element `at`."""
        b, hint = self.values.b, self.v.name
        if self.sizes is None:
            self.after = b.emit("list_append", self.phi, value, hint=hint).operand
            return
        path = (("index", (("int", 2), *((("all",),) * self.v.type.ndim))),)
        self.after = b.emit("update", self.phi, value, at, path=path, hint=hint).operand

    def carried(self) -> Carried:
        """The loop-carried value of the collecting loop."""
        result = self.listed if self.sizes is None else self.result
        return Carried(self.phi, self.start, self.after, result)

    def done(self) -> Var:
        """The batched value, after the loop."""
        if self.sizes is None:
            op = Op("list_stack", (self.listed,))
            self.values.b.block.append(Assign(self.result, op, self.values.b.origin))
        return self.result


# ---------------------------------------------------------------- copies


def substitute_sizes(block: Block, symbols: dict[str, Dim]) -> Block:
    """A copy of a block with `symbols` substituted in all its types.

    Sizes that differ between batch elements then refer to the values of the current element.
    """

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
