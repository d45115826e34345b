"""Statements: control flow and assignment."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..build import Builder, Sym
from ..dims import Dim
from ..errors import TypeError_
from ..ir import Assign, Block, Call, For, If, Operand, Phi, Raise, Scalar, Var, While
from .expressions import BINARY, NeedUnroll
from .peel import LONGEST
from .values import (
    Cell,
    Closure,
    Conflict,
    DictVal,
    Ended,
    EnumerateVal,
    Fields,
    Growing,
    InstanceVal,
    Items,
    ListVal,
    Maybe,
    Mixin,
    Num,
    Obj,
    ProductVal,
    RangeVal,
    Rec,
    Ref,
    State,
    TupleVal,
    Value,
    ZipVal,
)


@dataclass
class Stream:
    """A run-time iteration: how often, and the element at a position."""

    count: Num
    element: Callable[[Num], Value]


class Statements(Mixin):
    """Mixed into the specialiser."""

    b: Builder
    state: State

    def run(self, stmts: list[ast.stmt], loop: bool = False) -> bool:
        """Runs a block (the body of a `loop`, maybe); True if it always ends in an error."""
        for stmt in stmts:
            self.stmt = self.frame.stmt = stmt
            self.closing = loop and stmt is stmts[-1]
            with self.b.at(self.origin(stmt)):
                method = getattr(self, f"run_{type(stmt).__name__}", None)
                if method is None:
                    self.refuse(stmt, f"`{type(stmt).__name__.lower()}` is not supported here")
                try:
                    if method(stmt):
                        return True
                except Ended:
                    return True
        return False

    def run_Pass(self, node: ast.Pass) -> None:
        pass

    def run_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.eval(node.value)

    def run_Return(self, node: ast.Return) -> None:
        self.frame.result = Obj(None) if node.value is None else self.eval(node.value)

    def run_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            self.refuse(
                node.decorator_list[0],
                "a decorated inner function is not supported",
                "define it at module level",
            )
        self.state.env[node.name] = self.closure(node)

    def closure(self, node: ast.FunctionDef | ast.Lambda) -> Closure:
        defaults = tuple(self.eval(d) for d in node.args.defaults)
        named = tuple(
            (a.arg, self.eval(d))
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)
            if d is not None
        )
        return Closure(node, self.frame, defaults, named)

    # ---- assignment

    def run_Assign(self, node: ast.Assign) -> None:
        with self.hint(node.targets[0]):
            value = self.eval(node.value)
        for target in node.targets:
            self.bind(target, value, node)

    def run_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            with self.hint(node.target):
                self.bind(node.target, self.eval(node.value), node)

    def hint(self, target: ast.expr) -> Any:
        return _Hint(self.b, target.id if isinstance(target, ast.Name) else "t")

    def bind(self, target: ast.expr, value: Value, node: ast.AST) -> None:
        if isinstance(target, ast.Name):
            value = self.named(target.id, value)
            self.state.env[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value, node)
        elif isinstance(target, ast.Subscript):
            owner = self.eval(target.value)
            self.store_item(owner, self.eval(target.slice), value, target)
        elif isinstance(target, ast.Attribute):
            self.store_attribute(self.eval(target.value), target.attr, value, target)
        else:
            self.refuse(target, "this kind of target is not supported")

    def named(self, name: str, value: Value) -> Value:
        """A result computed for this very statement takes the user's name."""
        if isinstance(value, Num):
            if not isinstance(value.operand, Var):
                literal = self.b.emit("literal", value.operand, hint=name, user=name)
                return Num(literal.operand, value.known)
            operand = self._rename(value.operand, name)
            if operand.user and operand.user != name and self.frame.depth == 0:
                # Two names, two values: what the user's text says depends on which is which.
                operand = self.b.emit("copy", operand, hint=name, user=name).operand
            return value if operand is value.operand else Num(operand, value.known)
        if isinstance(value, Ref):
            if not value.path:
                content = self.state.heap[value.cell]
                if not value.cell.label:
                    value.cell.label = name
                self.state.heap[value.cell] = self._rename(content, name)
                self._note_alias(name, self.state.heap[value.cell])
            else:
                key = (value.cell, value.path)
                base, view = self.state.views.get(key, ("", None))
                if view is not None:
                    self.state.views[key] = (base, self._rename(view, name))
                    self._note_alias(name, self.state.views[key][1])
        elif isinstance(value, ListVal) and not value.cell.label:
            value.cell.label = name
            content = self.state.heap[value.cell]
            if isinstance(content, Growing) and isinstance(content.operand, Var):
                self.state.heap[value.cell] = Growing(self._rename(content.operand, name))
        return value

    def _note_alias(self, name: str, value: Var) -> None:
        """A second name for an array leaves no statement behind, so text that mentions it
        cannot be checked; at the end of a loop's body the next iteration names it anew."""
        if value.user and value.user != name and self.frame.depth == 0 and not self.closing:
            self.aliases.add(name)

    def _rename(self, var: Var, name: str) -> Var:
        """Marks a temporary defined in this block as the user's variable."""
        if var.user:
            return var
        for stmt in reversed(self.b.block):
            if isinstance(stmt, Assign) and stmt.target.name == var.name:
                stmt.target = replace(var, user=name)
                return stmt.target
            if isinstance(stmt, Call) and var in stmt.targets:
                target = replace(var, user=name)
                stmt.targets[stmt.targets.index(var)] = target
                return target
            if isinstance(stmt, If):
                for i, phi in enumerate(stmt.phis):
                    if phi.target.name == var.name:
                        target = replace(var, user=name)
                        stmt.phis[i] = Phi(target, phi.then_value, phi.else_value)
                        return target
            if (
                stmt.origin is None
                or self.b.origin is None
                or stmt.origin.stmt != self.b.origin.stmt
            ):
                break
        return var

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, node: ast.AST) -> None:
        names = target.elts
        items = self.static_items(value)
        starred = [i for i, t in enumerate(names) if isinstance(t, ast.Starred)]
        if items is None:
            if isinstance(value, Ref) and not starred:
                items = self._array_items(value, len(names), node)
            elif isinstance(value, ListVal) and not starred:
                content = self.state.heap[value.cell]
                items = [self.list_element(content, i) for i in range(len(names))]
            else:
                self.refuse(node, f"{self.kind_of(value)} cannot be unpacked here")
        if starred:
            at = starred[0]
            after = len(names) - at - 1
            if len(items) < len(names) - 1:
                raise self.located(ValueError("not enough values to unpack"), node)
            rest = self.new_list(tuple(items[at : len(items) - after]))
            items = [*items[:at], rest, *items[len(items) - after :]]
        if len(items) != len(names):
            word = "too many" if len(items) > len(names) else "not enough"
            raise self.located(
                ValueError(f"{word} values to unpack (expected {len(names)}, got {len(items)})"),
                node,
            )
        for name, item in zip(names, items):
            inner = name.value if isinstance(name, ast.Starred) else name
            self.bind(inner, item, node)

    def _array_items(self, value: Ref, count: int, node: ast.AST) -> list[Value]:
        size = self.size(self.sym(value), 0)
        if size.known is None:
            self.b.check(
                Sym(self.b, size.operand) == count,
                "ValueError",
                f"cannot unpack: expected {count} values",
            )
        elif size.known[0] != count:
            raise self.located(
                ValueError(f"cannot unpack: expected {count} values, got {size.known[0]}"), node
            )
        return [self.row(value, self.constant(i), node) for i in range(count)]

    def row(self, value: Ref, index: Num, node: ast.AST) -> Value:
        items = (("int", index.operand),) + (("all",),) * (self.ref_type(value).ndim - 1)
        return self.index_value(value, items, node)

    def store_item(self, owner: Value, index: Value, value: Value, node: ast.AST) -> None:
        if isinstance(owner, Ref):
            self.assign_index(owner, self.index_items(owner, index, node), value, node)
            return
        if isinstance(owner, ListVal):
            self._store_list(owner, index, value, node)
            return
        if isinstance(owner, DictVal):
            self.refuse_effect(owner.cell, node)
            content = self.state.heap[owner.cell]
            key = self.static(index, node, "a dict key")
            if key in content.keys:
                values = list(content.values)
                values[content.keys.index(key)] = value
                self.state.heap[owner.cell] = Fields(content.keys, tuple(values))
            else:
                self.state.heap[owner.cell] = Fields((*content.keys, key), (*content.values, value))
            return
        if isinstance(owner, Rec):
            self.refuse(node, "writing to a structured array is not supported", "use plain arrays")
        if isinstance(owner, TupleVal):
            raise self.located(TypeError("'tuple' object does not support item assignment"), node)
        self.refuse(
            node, f"writing into {self.kind_of(owner)} is not supported", "return the value instead"
        )

    def _store_list(self, owner: ListVal, index: Value, value: Value, node: ast.AST) -> None:
        self.refuse_effect(owner.cell, node)
        self.refuse_shared(owner.cell, node)
        content = self.state.heap[owner.cell]
        if isinstance(content, Items) and isinstance(index, Num) and index.known is not None:
            position = index.known[0]
            if not -len(content.values) <= position < len(content.values):
                raise self.located(IndexError("list assignment index out of range"), node)
            values = list(content.values)
            values[position] = value
            self.state.heap[owner.cell] = Items(tuple(values))
            return
        if isinstance(content, Items) and isinstance(index, Num):
            elem = self._element_type(content, Items((value,)))
            if elem is None:
                self.need_unroll(node)
            content = self.grow(content, elem, node)
        if not isinstance(content, Growing) or not isinstance(index, Num):
            self.refuse(node, "this assignment to a list is not supported")
        if not isinstance(value, (Num, Ref)):
            self.refuse(node, "a run-time list may hold numbers or arrays only")
        item = self.sym(value)
        elem = content.operand.type.elem
        if item.ndim != elem.ndim:
            self.refuse(node, "a run-time list must hold elements of one rank")
        if isinstance(value, Ref):
            self.appended.add(value.cell)
        content = self.widened(content, item.type, node)
        elem = content.operand.type.elem
        with self.guarding(node):
            changed = self.b.emit(
                "list_set", content.operand, index.operand, item.astype(elem.dtype)
            )
        self.state.heap[owner.cell] = Growing(changed.operand)

    def store_attribute(self, owner: Value, name: str, value: Value, node: ast.AST) -> None:
        if isinstance(owner, InstanceVal):
            self.refuse_effect(owner.cell, node)
            if owner.cls.__dataclass_params__.frozen:
                raise self.located(AttributeError(f"cannot assign to field {name!r}"), node)
            content = self.state.heap[owner.cell]
            if name in content.keys:
                values = list(content.values)
                values[content.keys.index(name)] = value
                self.state.heap[owner.cell] = Fields(content.keys, tuple(values))
                return
        self.refuse(
            node,
            "writing to an attribute of an object is not supported yet",
            "return the new value instead",
        )

    def refuse_effect(self, cell: Cell, node: ast.AST) -> None:
        if cell.path:
            self.refuse(
                node,
                "writing into a container that was passed in is not supported yet",
                "build a new one and return it",
            )

    def run_AugAssign(self, node: ast.AugAssign) -> None:
        name = BINARY[type(node.op)]
        target = node.target
        if isinstance(target, ast.Name):
            current = self.eval(target)
            with self.hint(target):
                value = self.eval(node.value)
                if isinstance(current, Ref):
                    self._in_place(current, name, value, node)
                    return
                if isinstance(current, ListVal) and name == "add":
                    self.call_method(current, "extend", (value,), {}, node)
                    return
                self.bind(target, self.binary(name, current, value, node), node)
            return
        owner = self.eval(target.value)  # type: ignore[attr-defined]
        if isinstance(target, ast.Subscript):
            index = self.eval(target.slice)
            current = self.subscript(owner, index, target)
            value = self.eval(node.value)
            if isinstance(current, Ref) and isinstance(owner, Ref) and current.cell is owner.cell:
                self._in_place(current, name, value, node)
            elif isinstance(current, Ref) and not isinstance(owner, Ref):
                self._in_place(current, name, value, node)
            else:
                self.store_item(owner, index, self.binary(name, current, value, node), target)
            return
        assert isinstance(target, ast.Attribute)
        current = self.attribute(owner, target.attr, target)
        value = self.eval(node.value)
        if isinstance(current, Ref):
            self._in_place(current, name, value, node)
        else:
            self.store_attribute(
                owner, target.attr, self.binary(name, current, value, node), target
            )

    def _in_place(self, ref: Ref, name: str, value: Value, node: ast.AST) -> None:
        """`a += b` writes into a's memory, in a's dtype."""
        result = self.binary(name, ref, value, node)
        dtype = self.ref_type(ref).dtype
        out = self.sym(result)
        if (
            not dtype.startswith("float")
            and out.dtype.startswith("float")
            or (dtype == "bool" and out.dtype != "bool")
        ):
            raise self.located(
                TypeError(
                    f"Cannot cast ufunc '{name}' output from dtype('{out.dtype}') "
                    f"to dtype('{dtype}') with casting rule 'same_kind'"
                ),
                node,
            )
        with self.guarding(node):
            self.write(ref, (), out, node)

    # ---- branches

    def run_If(self, node: ast.If) -> bool:
        cond = self.condition(node.test)
        if cond.known is not None:
            return self.run(node.body if cond.known[0] else node.orelse)
        return self.if_(cond, lambda: self.run(node.body), lambda: self.run(node.orelse))

    def run_Raise(self, node: ast.Raise) -> bool:
        exception, message = self._exception(node)
        self.b.block.append(Raise(exception, message, self.b.origin))
        return True

    def _exception(self, node: ast.Raise) -> tuple[str, tuple[Any, ...]]:
        if node.exc is None:
            self.refuse(node, "`raise` without an exception is not supported")
        call = node.exc
        args: list[ast.expr] = []
        if isinstance(call, ast.Call):
            args, call = call.args, call.func
        value = self.eval(call)
        cls = value.value if isinstance(value, Obj) else None
        if not (isinstance(cls, type) and issubclass(cls, Exception)):
            self.refuse(node, "only an exception class or its call can be raised here")
        if not hasattr(builtins, cls.__name__):
            self.refuse(
                node,
                f"raising {cls.__name__} is not supported",
                "raise ValueError or another builtin",
            )
        return cls.__name__, self.message(args)

    def message(self, args: list[ast.expr]) -> tuple[Any, ...]:
        if not args:
            return ()
        if isinstance(args[0], ast.JoinedStr):
            return tuple(self.message_parts(args[0]))
        value = self.eval(args[0])
        if isinstance(value, Num) and value.known is None:
            return (value.operand,)
        return (str(self.static(value, args[0], "the message")),)

    def run_Assert(self, node: ast.Assert) -> bool:
        cond = self.condition(node.test)
        if cond.known is not None and cond.known[0]:
            return False

        def fail() -> bool:
            message = self.message([node.msg]) if node.msg is not None else ()
            self.b.block.append(Raise("AssertionError", message, self.b.origin))
            return True

        if cond.known is not None:
            return fail()
        return self.if_(cond, lambda: False, fail)

    # ---- loops

    def run_For(self, node: Any) -> bool:
        iterable = self.eval(node.iter)
        return self.for_each(
            node.target, iterable, lambda: self.run(node.body, True), node.until, node
        )

    def for_each(
        self, target: ast.expr, iterable: Value, body: Any, until: str | None, node: Any
    ) -> bool:
        numeric = isinstance(iterable, (RangeVal, ProductVal))
        items = None if numeric else self.static_items(iterable)
        if items is not None:
            return self._unrolled(target, items, body, until, node)
        if numeric:
            return self._run_time_loop(target, iterable, body, until, node)
        # The loop holds on to what it runs over, even if the user's name moves on.
        held = f"<over L{node.lineno}>"
        while held in self.state.env:
            held += "'"
        self.state.env[held] = iterable
        try:
            return self._run_time_loop(target, iterable, body, until, node)
        finally:
            self.state.env.pop(held, None)

    def _run_time_loop(
        self, target: ast.expr, iterable: Value, body: Any, until: str | None, node: Any
    ) -> bool:
        attempt = self.checkpoint()
        try:
            if isinstance(iterable, RangeVal):
                return self._range_loop(target, iterable, body, until, node)
            return self._stream_loop(target, self.stream(iterable, node), body, until, node)
        except NeedUnroll as need:
            self.rollback(attempt)
            items = self.static_items(iterable)
            if items is not None and len(items) <= LONGEST:
                return self._unrolled(target, items, body, until, node)
            if not need.peel:
                raise
            return self._peeled(target, self.stream(iterable, node), body, until, node)

    def _peeled(
        self, target: ast.expr, stream: Stream, body: Any, until: str | None, node: Any
    ) -> bool:
        def first() -> bool:
            self.bind(target, stream.element(self.constant(0)), node)
            return body()

        def rest() -> bool:
            return self._stream_loop(target, stream, body, until, node, 1)

        some = self.compare(ast.Gt(), stream.count, self.constant(0), node)
        return self.first_and_rest(some, first, rest, until, node)

    def checkpoint(self) -> Any:
        return (
            self.state.copy(),
            self.b.block,
            len(self.b.block),
            self.b.names.snapshot(),
            self.b.facts.snapshot(),
        )

    def rollback(self, saved: Any) -> None:
        self.state, self.b.block = saved[0].copy(), saved[1]
        del self.b.block[saved[2] :]
        self.b.names.restore(saved[3])
        self.b.facts.restore(saved[4])

    def _unrolled(
        self, target: ast.expr, items: list[Value], body: Any, until: str | None, node: Any
    ) -> bool:
        """One copy of the body per element of a static sequence."""
        for position, item in enumerate(items):
            self.bind(target, item, node)
            if body():
                return True
            over = self.is_over(until, node)
            if over.known is None:
                rest = items[position + 1 :]
                return self.unless(
                    until, lambda rest=rest: self._unrolled(target, rest, body, until, node), node
                )
            if over.known[0]:
                break
        return False

    def _range_loop(
        self, target: ast.expr, r: RangeVal, body: Any, until: str | None, node: Any
    ) -> bool:
        start, stop, step = r.start.operand, r.stop.operand, r.step.operand
        origin = self.b.origin
        hint = target.id if isinstance(target, ast.Name) else "k"
        made: dict[str, Any] = {}

        def once() -> tuple[bool, Operand | None]:
            name = self.b.names.fresh(hint)
            index = Var(
                name,
                Scalar("int64", True, Dim.of(name)),
                hint if isinstance(target, ast.Name) else "",
            )
            made["index"] = index
            self.bind(target, Num(index), node)
            if body():
                return True, None
            return False, self._until(until, node)

        block, carried, flag = self.loop(once, node)
        trips = self.b.var(Scalar("int64", value=None), f"trips_L{getattr(node, 'lineno', 0)}")
        self.b.block.append(
            For(
                made["index"], start, stop, step, block, carried, flag, None, r.reverse, trips,
                label=self.b.names.fresh("loop"), kind="parallel" if r.parallel else "sequential",
                origin=origin,
            )
        )  # fmt: skip
        return False

    def _until(self, until: str | None, node: Any) -> Operand | None:
        if until is None:
            return None
        value = self.state.env[until]
        flag = self.truth(self.usable(value, node), node)
        return None if flag.known is not None and not flag.known[0] else flag.operand

    def _stream_loop(
        self,
        target: ast.expr,
        stream: Stream,
        body: Any,
        until: str | None,
        node: Any,
        start: int = 0,
    ) -> bool:
        index = ast.copy_location(ast.Name(self.fresh_name(f"k_L{node.lineno}"), ast.Store()), node)

        def inner() -> bool:
            # The position is not a name of the user's: it is gone before anyone sees it.
            position = self.state.env.pop(index.id)
            self.bind(target, stream.element(position), node)
            return body()

        positions = RangeVal(self.constant(start), stream.count, self.constant(1))
        return self._range_loop(index, positions, inner, until, node)

    def stream(self, iterable: Value, node: Any) -> Stream:
        """How to iterate over something whose length is known only at run time."""
        if isinstance(iterable, Ref):
            array = self.sym(iterable)
            if array.ndim == 0:
                raise self.located(TypeError("iteration over a 0-d array"), node)
            return Stream(self.size(array, 0), lambda k: self.row(iterable, k, node))
        if isinstance(iterable, ListVal) and isinstance(self.state.heap[iterable.cell], Growing):
            cell = iterable.cell
            count = self.wrap(self.b.emit("list_len", self.state.heap[cell].operand))
            return Stream(count, lambda k: self.list_element(self.state.heap[cell], k.operand))
        if isinstance(iterable, Rec):
            count = self.wrap(self.b.emit("shape", iterable.operand, axis=0))
            return Stream(count, lambda k: self.record_index(iterable, k, node))
        if isinstance(iterable, RangeVal):
            return Stream(
                self.range_count(iterable), lambda k: self._range_element(iterable, k, node)
            )
        if isinstance(iterable, EnumerateVal):
            inner = self.stream(iterable.inner, node)
            return Stream(
                inner.count,
                lambda k: TupleVal((self.binary("add", k, iterable.start, node)
                                    if iterable.start.known != (0,) else k, inner.element(k))),
            )  # fmt: skip
        if isinstance(iterable, ZipVal):
            inners = [self.stream(i, node) for i in iterable.inners]
            count = inners[0].count
            for other in inners[1:]:
                if count.operand != other.count.operand and not self._same_size(count, other.count):
                    count = Num(self.b.emit("minimum", count.operand, other.count.operand).operand)
            return Stream(count, lambda k: TupleVal(tuple(i.element(k) for i in inners)))
        if isinstance(iterable, ProductVal):
            return self._product_stream(iterable, node)
        items = self.static_items(iterable)
        if items is not None:
            values = tuple(items)
            return Stream(self.constant(len(values)), lambda k: self._pick(values, k, node))
        raise self.refusal(
            getattr(node, "iter", node), f"{self.kind_of(iterable)} is not iterable", "", TypeError_
        )

    def _product_stream(self, product: ProductVal, node: Any) -> Stream:
        inners = [self.stream(i, node) for i in product.inners]
        count = self.constant(1)
        for inner in inners:
            count = self.binary("multiply", count, inner.count, node)

        def element(k: Num) -> Value:
            places: list[Num] = []
            for inner in inners[:0:-1]:
                places.append(self.binary("remainder", k, inner.count, node))
                k = self.binary("floor_divide", k, inner.count, node)
            places.append(k)
            index = TupleVal(tuple(i.element(p) for i, p in zip(inners, places[::-1])))
            if product.array is None:
                return index
            return TupleVal((index, self.subscript(product.array, index, node)))

        return Stream(count, element)

    def _same_size(self, x: Num, y: Num) -> bool:
        p, q = x.operand.type.value, y.operand.type.value
        return p is not None and q is not None and self.b.facts.known_equal(p, q)

    def range_count(self, r: RangeVal) -> Num:
        """`len(range(start, stop, step))`."""
        known = [p.known[0] for p in (r.start, r.stop, r.step) if p.known is not None]
        if len(known) == 3:
            return self.constant(len(range(*known)))
        start, stop, step = (self.b.sym(p.operand) for p in (r.start, r.stop, r.step))
        if r.start.known == (0,) and r.step.known == (1,):
            return Num(self.b.emit("maximum", stop, 0).operand)
        count = -((start - stop) // step)
        return Num(self.b.emit("maximum", count, 0).operand)

    def _range_element(self, r: RangeVal, k: Num, node: Any) -> Value:
        if r.reverse:
            count = self.range_count(r)
            k = self.binary(
                "subtract", self.binary("subtract", count, k, node), self.constant(1), node
            )
        if r.start.known == (0,) and r.step.known == (1,):
            return k
        scaled = self.binary("multiply", k, r.step, node)
        return self.binary("add", r.start, scaled, node)

    def run_While(self, node: Any) -> bool:
        attempt = self.checkpoint()
        try:
            return self._while(node)
        except NeedUnroll as need:
            self.rollback(attempt)
            if need.peel:
                cond = self.condition(node.test)
                return self.first_and_rest(
                    cond, lambda: self.run(node.body), lambda: self._while(node), node.until, node
                )
            return self._unrolled_while(node, LONGEST, need)

    def _unrolled_while(self, node: Any, left: int, need: NeedUnroll) -> bool:
        """One copy of the body per iteration, as long as the condition is known."""
        while left:
            left -= 1
            cond = self.condition(node.test)
            if cond.known is None:
                break
            if not cond.known[0]:
                return False
            if self.run(node.body, True):
                return True
            over = self.is_over(node.until, node)
            if over.known is None:
                again = left
                return self.unless(
                    node.until, lambda again=again: self._unrolled_while(node, again, need), node
                )
            if over.known[0]:
                return False
        raise need

    def _while(self, node: Any) -> bool:
        origin = self.b.origin
        made: dict[str, Any] = {}

        def once() -> tuple[bool, Operand | None]:
            test: Block = []
            with self.b.into(test):
                cond = self.condition(node.test)
            made["test"], made["cond"] = test, cond
            if self.run(node.body, True):
                return True, None
            return False, self._until(node.until, node)

        block, carried, flag = self.loop(once, node)
        cond = made["cond"]
        if cond.known is not None and not cond.known[0]:
            return False
        if cond.known is not None and flag is None:
            self.refuse(node, "this loop never ends", "add a `break` or a condition")
        trips = self.b.var(Scalar("int64", value=None), f"trips_L{node.lineno}")
        self.b.block.append(
            While(made["test"], cond.operand, block, carried, flag, trips,
                  self.b.names.fresh("loop"), origin)
        )  # fmt: skip
        return False

    # ---- comprehensions

    def comprehension(self, node: Any) -> Value:
        """`[e for x in xs if c]` is a list appended to in loops."""
        name = self.fresh_name("items")
        while name in self.state.env:  # a comprehension inside this one
            name += "_"
        self.state.env[name] = self.new_list((), name)
        targets = {
            n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)
        }
        hidden = {n: self.state.env.pop(n) for n in targets if n in self.state.env}

        def level(depth: int) -> bool:
            if depth == len(node.generators):
                value = self.eval(node.elt)
                self.call_method(self.state.env[name], "append", (value,), {}, node.elt)
                return False
            generator = node.generators[depth]
            if generator.is_async:
                self.refuse(node, "async comprehensions are not supported")

            def body() -> bool:
                cond = self.constant(True)
                for test in generator.ifs:
                    cond = self.lazy_and(cond, lambda test=test: self.condition(test), test)
                if cond.known is not None:
                    return level(depth + 1) if cond.known[0] else False
                return self.if_(cond, lambda: level(depth + 1), lambda: False)

            return self.for_each(generator.target, self.eval(generator.iter), body, None, node)

        level(0)
        value = self.state.env.pop(name)
        for target in targets:
            self.state.env.pop(target, None)
        self.state.env.update(hidden)
        return self.usable(value, node)

    def usable(self, value: Value, node: ast.AST) -> Value:
        """A value that was merged from several paths, unless the paths disagree."""
        if isinstance(value, Conflict):
            self.need_unroll(node, value.why, "use one name for one kind of thing", peel=True)
        return value.value if isinstance(value, Maybe) else value


class _Hint:
    """Names temporaries after the variable being assigned."""

    def __init__(self, b: Builder, name: str) -> None:
        self.b, self.name = b, name

    def __enter__(self) -> None:
        self.saved, self.b.hint = self.b.hint, self.name

    def __exit__(self, *_: Any) -> None:
        self.b.hint = self.saved
