"""Adjoint environments of the reverse sweep, and the accumulation of contributions.

An adjoint (in JAX: a cotangent) of a value `x` is named `x_bar`.  `Bars` maps values to their
current adjoints; a value that is absent has adjoint zero.  In a mirrored loop the adjoints of
values from outside the loop are loop-carried: `LoopBars` records them at the first access in the
body.
"""

from __future__ import annotations

from typing import Any

from ..ir.builder import Builder, Sym
from ..ir.nodes import (
    Array,
    Assign,
    Carried,
    Const,
    For,
    ListOf,
    Operand,
    Scalar,
    Type,
    Var,
    substitute,
    targets_of,
)
from ..ir.op_registry import Accumulate
from ..ir.record import field, record, replace
from ..ir.scopes import SameShapeValues, Scope, Scopes, dims_of
from ..ir.symbolic_dims import Dim, Facts
from ..rules.broadcasting import unbroadcast


@record
class LoopBars:
    """The adjoints carried by the mirror of one loop.  `entered` maps the name of a value to the
    value and the phi of its adjoint."""

    scope: Scope
    adjoints: Adjoints
    entered: dict[str, tuple[Var, Var]] = field(default_factory=dict)

    def enter(self, v: Var) -> Var:
        if v.name not in self.entered:
            self.entered[v.name] = (v, self.adjoints.bar_var(v))
        return self.entered[v.name][1]


@record
class Bars:
    """The current adjoints, by name of the value.  `loop` is the innermost mirrored loop."""

    loop: LoopBars | None = None
    values: dict[str, Operand] = field(default_factory=dict)

    def branch(self) -> Bars:
        """A copy, for one branch of an `If`."""
        return Bars(self.loop, dict(self.values))

    def pop(self, v: Var) -> Operand | None:
        """Remove and return the adjoint of a value at its definition, where it is complete."""
        return self.values.pop(v.name, None)

    def get(self, v: Var, home: Scope) -> Operand | None:
        """The adjoint of a value of the scope `home`.  In a mirrored loop, the first access to
        the adjoint of a value from outside makes it loop-carried."""
        found = self.values.get(v.name)
        if found is None and self.loop is not None and not home.inside(self.loop.scope):
            return self.loop.enter(v)
        return found


class Adjoints:
    """Emits adjoints: their names and types, zeros and sums.  `need` maps a forward value to its
    operand in the sweep."""

    def __init__(self, b: Builder, scopes: Scopes, need: Any) -> None:
        self.b = b
        self.scopes = scopes
        self.need = need
        self.twins = SameShapeValues(scopes, b.facts)
        self.named: set[str] = set()

    # ---- names and types

    def bar_var(self, v: Var, type_: Type | None = None) -> Var:
        user = f"{v.user}_bar" if v.user else ""
        bar = self.b.var(type_ or bar_type(v.type), f"{v.user or v.name}_bar", user)
        self.named.add(bar.name)
        return bar

    def name(self, bar: Operand, v: Var, mark: int) -> Operand:
        """Rename a result of the statements from index `mark` on to the adjoint of `v`."""
        if not isinstance(bar, Var) or bar.name in self.named:
            return bar
        block = self.b.block
        at = next((i for i in range(mark, len(block)) if bar in targets_of(block[i])), len(block))
        if at == len(block) or not isinstance(block[at], Assign):
            return bar
        named = self.bar_var(v, bar.type)
        block[at] = replace(block[at], target=named)
        block[mark:] = substitute(block[mark:], lambda x: named if x == bar else x)
        self.b.definitions[named.name] = self.b.definitions[bar.name]
        return named

    # ---- zeros

    def zeros(self, v: Var) -> Operand:
        t = v.type
        if isinstance(t, Scalar):
            return Const(0.0, Scalar(t.dtype))
        if isinstance(t, ListOf):
            op = "list_zeros_like"
            return self._emit(v, op, self.need(v))
        return self._emit(v, "zeros_like", self.like(v), dtype=t.dtype)

    def like(self, v: Var) -> Operand:
        """A value with the shape of `v`, for uses of its shape only.  A top-level value of that
        shape is preferred to `v` itself, which might have to be saved."""
        if not isinstance(v.type, Array):
            return v
        twin = None if self.scopes.home[v.name] is self.scopes.top else self.twins.shape(v)
        return self.need(v) if twin is None else twin

    # ---- sums

    def add(self, bars: Bars, v: Var, contribution: Any, mark: int | None = None) -> None:
        """bars[v] += contribution.  `mark` is the index of the contribution's first statement."""
        mark = len(self.b.block) if mark is None else mark
        if isinstance(contribution, Accumulate):
            bars.values[v.name] = self._accumulate(bars, v, contribution)
            return
        bar = self.conform(self.b.sym(contribution), v)
        old = bars.get(v, self.scopes.home[v.name])
        if old is None or is_zero(old):
            bars.values[v.name] = self.name(bar, v, mark)
        elif not is_zero(bar):
            bars.values[v.name] = self._sum(v, old, bar)

    def joined(self, v: Var, parts: list[Any]) -> list[Any]:
        """The contributions of one operation in which `v` occurs as several operands (`x * x`).
        They are summed to one unless one of them is an `Accumulate`."""
        if len(parts) == 1 or isinstance(v.type, ListOf):
            return parts
        if any(isinstance(p, Accumulate) for p in parts):
            return parts
        total, *rest = (self.b.sym(self.conform(self.b.sym(p), v)) for p in parts)
        for part in rest:
            total = total + part
        return [total]

    def _sum(self, v: Var, old: Operand, new: Operand) -> Operand:
        if isinstance(v.type, ListOf):
            return self._list_sum(v, old, new)
        if isinstance(v.type, Array):
            return self._emit(v, "update_add", old, new, path=())  # bufferized in place
        return self._emit(v, "add", old, new)

    def _accumulate(self, bars: Bars, v: Var, part: Accumulate) -> Operand:
        old = bars.get(v, self.scopes.home[v.name])
        base = self.zeros(v) if old is None else old
        operands = tuple(self.b.sym(o).operand for o in part.operands)
        value = self.b.sym(part.value)
        if isinstance(v.type, ListOf):
            ((_, position),) = part.path
            at = operands[position - 2]
            total = self.b.emit("list_get", base, at) + value
            return self._emit(v, "list_set", base, at, total.astype(v.type.dtype))
        value = value.astype(v.type.dtype)
        return self._emit(v, "update_add", base, value, *operands, path=part.path)

    def _list_sum(self, v: Var, old: Operand, new: Operand) -> Operand:
        """The elementwise sum of two lists, as a loop."""
        b = self.b
        count = b.emit("list_len", old).operand
        index = b.var(Scalar("int64"), "k")
        index = replace(index, type=Scalar("int64", value=Dim.of(index.name)))
        phi, result = self.bar_var(v), self.bar_var(v)
        body: list[Any] = []
        with b.into(body):
            total = b.emit("list_get", phi, index) + b.emit("list_get", new, index)
            after = b.emit("list_set", phi, index, total).operand
        zero, one = (Const(n, Scalar("int64", value=Dim.of(n))) for n in (0, 1))
        carried = [Carried(phi, old, after, result)]
        label = b.names.fresh("loop")
        b.block.append(For(index, zero, count, one, body, carried, label=label, origin=b.origin))
        return result

    def conform(self, g: Sym, v: Var) -> Operand:
        """`g` with the dtype, shape and kind of `v`.  Broadcasting is undone only here."""
        t = v.type
        if isinstance(t, ListOf) or is_zero(g.operand):
            return g.operand
        g = unbroadcast(self.b, g, self.like(v))
        if isinstance(t, Array) and isinstance(g.type, Scalar):
            g = self.b.emit("full_like", self.like(v), g, dtype=t.dtype)
        if isinstance(t, Scalar) and isinstance(g.type, Array):
            g = self.b.emit("index", g, items=())
        return g.operand

    def _emit(self, v: Var, op: str, *args: Any, **attrs: Any) -> Operand:
        user = f"{v.user}_bar" if v.user else ""
        bar = self.b.emit(op, *args, hint=f"{v.user or v.name}_bar", user=user, **attrs).operand
        assert isinstance(bar, Var)
        self.named.add(bar.name)
        return bar


def bar_type(t: Type) -> Type:
    """The type of the adjoint of a value: its own type, neither weak nor strided."""
    if isinstance(t, Scalar):
        return Scalar(t.dtype)
    if isinstance(t, ListOf):
        elem = bar_type(t.elem)
        assert isinstance(elem, (Scalar, Array))
        return ListOf(elem)
    return replace(t, layout="C")


def with_own_sizes(v: Var, c: Carried, facts: Facts) -> Var:
    """`v`, the adjoint or tangent of a carried value in the same loop.  If the shape of the value
    changes between iterations, `v` gets size symbols of its own."""
    if isinstance(v.type, Array):
        parts = (c.phi, c.init, c.next, c.result)
        shapes = {tuple(map(facts.canonical, dims_of(x))) for x in parts}
        if len(shapes) > 1:
            own = tuple(Dim.of(f"{v.name}.{i}") for i in range(v.type.ndim))
            return replace(v, type=replace(v.type, shape=own))
    return v


def is_zero(x: Operand) -> bool:
    return isinstance(x, Const) and x.value == 0
