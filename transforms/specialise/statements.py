"""Statements: control flow and assignment."""

from __future__ import annotations

import builtins
import functools
import types
from dataclasses import replace
from typing import Any

import numpy as np

from ..frontend.check_subset import HIDDEN
from ..ir.builder import Builder, Sym
from ..ir.nodes import Assign, Call, Draw, If, Phi, Raise, Var
from ..ir.record import field, record
from ..syntax import core
from .arrays import Arrays
from .attributes import Attributes
from .calls import Calls
from .effects import Effects
from .expressions import BINARY, Expressions, is_count
from .indexing import Indexing
from .instances import Instances
from .iterators import Iterators, LengthChanges
from .joins import Joins
from .operators import Operators
from .places import Places
from .session import Part
from .values import (
    Cell,
    Closure,
    DictVal,
    Disagreement,
    Ended,
    Fields,
    Growing,
    InstanceVal,
    Items,
    ListVal,
    Num,
    Obj,
    Partial,
    Rec,
    Ref,
    SliceVal,
    TupleVal,
    Value,
    constant,
    kind_text,
)

# Passes recurse along the nesting of a program; Python limits how deep, the caller included.
TOO_DEEP = (
    "expressions, blocks or calls are nested too deeply here to be compiled",
    "split them into several statements, or write a recursion as a loop",
)


@record(eq=False)
class Statements(Part):
    """Statements and assignment."""

    places: Places
    arrays: Arrays
    joins: Joins
    expressions: Expressions
    operators: Operators
    indexing: Indexing
    iterators: Iterators
    effects: Effects
    instances: Instances
    calls: Calls
    attributes: Attributes
    # names that are second names for arrays
    aliases: set[str] = field(default_factory=set, init=False)
    # whether the statement being run is the last one of a loop's body
    closing: bool = field(default=False, init=False)

    def run(self, stmts: core.Block, loop: bool = False) -> bool:
        """Runs a block (the body of a `loop`, maybe); True if it always ends in an error."""
        around = self.places.stmt, self.places.frame.stmt
        ends = self._run_each(stmts, loop)
        self.places.stmt, self.places.frame.stmt = around
        return ends

    def _run_each(self, stmts: core.Block, loop: bool) -> bool:
        for stmt in stmts:
            self.places.stmt = self.places.frame.stmt = stmt
            self.closing = loop and stmt is stmts[-1]
            with self.b.at(self.places.origin(stmt)):
                method = self.evaluator.run_methods.get(type(stmt))
                if method is None:
                    self.places.refuse(stmt, f"{type(stmt).__name__} is not supported here")
                try:
                    if method(stmt):
                        return True
                except Ended:
                    return True
                except Disagreement as found:
                    self.expressions.refuse_content(found, stmt)
                except RecursionError as error:
                    raise self.places.refusal(stmt, *TOO_DEEP) from error
                except Exception as error:
                    if not self.joins.raised_when_reached(error):
                        raise
                    return True
        return False

    def run_Pass(self, node: core.Pass) -> None:
        pass

    def run_Global(self, node: core.Global) -> None:
        free = self.places.frame.function.__code__.co_freevars
        if any(name in free for name in node.names):
            self.places.refuse(node, *HIDDEN)  # the name would be looked up in the closure first

    def run_Refused(self, node: core.Refused) -> None:
        self.places.refuse(node, node.message, node.advice)

    def run_Eval(self, node: core.Eval) -> None:
        if not isinstance(node.value, core.Const):
            self.expressions.eval(node.value)

    def run_Return(self, node: core.Return) -> None:
        self.places.frame.result = (
            Obj(None) if node.value is None else self.expressions.eval(node.value)
        )

    def run_Define(self, node: core.Define) -> None:
        decorators = [
            (decorator, self.expressions.eval(decorator)) for decorator in node.decorators
        ]
        value: Value = self.closure(node.func)
        for decorator, by in reversed(decorators):
            value = self._decorated(decorator, by, value)
        self.state.env[node.func.name] = value

    def _decorated(self, decorator: core.Expr, by: Value, value: Value) -> Value:
        """What a decorator makes of an inner function."""
        inner = by.function if isinstance(by, Partial) else by
        if isinstance(inner, Obj) and inner.value is functools.update_wrapper:
            return value  # `@functools.wraps(f)` sets what compiled code does not read
        if isinstance(inner, Obj) and hasattr(inner.value, "_s2s_transform"):
            return self.calls.call(by, (value,), {}, decorator)
        if isinstance(inner, Closure) or (
            isinstance(inner, Obj) and isinstance(inner.value, types.FunctionType)
        ):
            return self.calls.call(by, (value,), {}, decorator)
        return self.places.refuse(
            decorator,
            f"{kind_text(by)} as the decorator of an inner function is not supported",
            "decorate a function at module level",
        )

    def closure(self, node: core.Func) -> Closure:
        p = node.params
        plain = (*p.positional_only, *p.plain)
        defaults = tuple(self.expressions.eval(q.default) for q in plain if q.default is not None)
        named = tuple(
            (q.name, self.expressions.eval(q.default))
            for q in p.keyword_only
            if q.default is not None
        )
        return Closure(node, self.places.frame, defaults, named)

    # ---- assignment

    def run_Assign(self, node: core.Assign) -> None:
        with self.hint(node.targets[0]):
            value = self.expressions.eval(node.value)
        for target in node.targets:
            self.bind(target, value, node)

    def hint(self, target: core.Expr) -> Any:
        return _Hint(self.b, target.id if isinstance(target, core.Name) else "t")

    def bind(self, target: core.Expr, value: Value, node: core.Node) -> None:
        if isinstance(target, core.Name):
            # A name in angle brackets is the compiler's own: `<k scope>` stands for `k`.
            shown = target.id[1:].split()[0] if target.id[0] == "<" else target.id
            value = self.named(shown, value)
            self.state.env[target.id] = value
        elif isinstance(target, core.Seq):
            self._unpack(target, value, node)
        elif isinstance(target, core.Item):
            owner = self.expressions.eval(target.value)
            self.store_item(owner, self.expressions.eval(target.index), value, target)
        elif isinstance(target, core.Attr):
            self.store_attribute(self.expressions.eval(target.value), target.name, value, target)
        else:
            self.places.refuse(target, "this kind of target is not supported")

    def named(self, name: str, value: Value) -> Value:
        """A result computed for this very statement takes the user's name."""
        if isinstance(value, Num):
            if not isinstance(value.operand, Var):
                literal = self.b.emit("literal", value.operand, hint=name, user=name)
                return replace(value, operand=literal.operand)
            operand = self._rename(value.operand, name)
            if operand.user and operand.user != name and self.places.frame.depth == 0:
                # Two names, two values: what the user's text says depends on which is which.
                operand = self.b.emit("copy", operand, hint=name, user=name).operand
            return value if operand is value.operand else replace(value, operand=operand)
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
                if self.state.heap[value.cell].user == name:
                    self._note_view_of_itself(name)
        elif isinstance(value, ListVal) and not value.cell.label:
            value.cell.label = name
            content = self.state.heap[value.cell]
            if isinstance(content, Growing) and isinstance(content.operand, Var):
                self.state.heap[value.cell] = Growing(self._rename(content.operand, name))
        return value

    def _note_alias(self, name: str, value: Var) -> None:
        """A second name for an array leaves no statement behind, so text that mentions it
        cannot be checked; at the end of a loop's body the next iteration names it anew."""
        if value.user and value.user != name and self.places.frame.depth == 0 and not self.closing:
            self.aliases.add(name)

    def _note_view_of_itself(self, name: str) -> None:
        """In the user's text the name means the view from here on, in the IR the array."""
        if self.places.frame.depth == 0 and not self.closing:
            self.aliases.add(name)

    def _rename(self, var: Var, name: str) -> Var:
        """Marks a temporary defined in this block as the user's variable."""
        if var.user:
            return var
        for stmt in reversed(self.b.block):
            if isinstance(stmt, Assign) and stmt.target.name == var.name:
                stmt.target = replace(var, user=name)
                return stmt.target
            if isinstance(stmt, (Call, Draw)) and var in stmt.targets:
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

    def _unpack(self, target: core.Seq, value: Value, node: core.Node) -> None:
        names = target.items
        value = self.iterators.whole(value, node)
        items = self.expressions.static_items(value)
        starred = [i for i, t in enumerate(names) if isinstance(t, core.Star)]
        if items is None:
            if isinstance(value, Ref) and starred:
                items = self._parts_of(value, starred[0], len(names) - 1, node)
                starred = []
            elif isinstance(value, Ref):
                items = self._array_items(value, len(names), node)
            elif isinstance(value, ListVal) and not starred:
                content = self.state.heap[value.cell]
                count = self.arrays.wrap(self.b.emit("list_len", content.operand))
                self._check_unpacked(count, len(names), node)
                items = [self.attributes.list_element(content, i) for i in range(len(names))]
            else:
                self.places.refuse(node, f"{kind_text(value)} cannot be unpacked here")
        if starred:
            at = starred[0]
            after = len(names) - at - 1
            if len(items) < len(names) - 1:
                raise self.places.located(ValueError("not enough values to unpack"), node)
            rest = self.arrays.new_list(tuple(items[at : len(items) - after]))
            items = [*items[:at], rest, *items[len(items) - after :]]
        if len(items) != len(names):
            word = "too many" if len(items) > len(names) else "not enough"
            raise self.places.located(
                ValueError(f"{word} values to unpack (expected {len(names)}, got {len(items)})"),
                node,
            )
        for name, item in zip(names, items):
            inner = name.value if isinstance(name, core.Star) else name
            self.bind(inner, item, node)

    def _array_items(self, value: Ref, count: int, node: core.Node) -> list[Value]:
        self._check_unpacked(self.attributes.size(self.arrays.sym(value), 0), count, node)
        return [self.row(value, constant(i), node) for i in range(count)]

    def _check_unpacked(self, size: Num, count: int, node: core.Node) -> None:
        """Raises a ValueError unless what is unpacked has as many values as there are names."""
        if size.known is None:
            message = f"cannot unpack: expected {count} values"
            self.b.check(Sym(self.b, size.operand) == count, "ValueError", message)
        elif size.known[0] != count:
            text = f"cannot unpack: expected {count} values, got {size.known[0]}"
            raise self.places.located(ValueError(text), node)

    def _parts_of(self, value: Ref, at: int, others: int, node: core.Node) -> list[Value]:
        """What `first, *rest, last = value` binds, with the star at the position `at`."""
        size = self.attributes.size(self.arrays.sym(value), 0)
        enough = self.b.sym(size.operand) >= others
        least = f"not enough values to unpack (expected at least {others}, got "
        self.b.check(enough, "ValueError", least, self.b.sym(size.operand), ")")
        after = others - at
        until = constant(-after) if after else None
        rest = self.attributes.subscript(value, SliceVal(constant(at), until, None), node)
        edges = [*range(at), *range(-after, 0)]
        items = [self.row(value, constant(i), node) for i in edges]
        return [*items[:at], self.rows_of(rest, node), *items[at:]]

    def rows_of(self, value: Ref, node: core.Node) -> ListVal:
        """`list(value)` of an array whose length is known at run time."""
        rank = self.joins.ref_type(value).ndim
        if rank == 0:
            raise self.places.located(TypeError("iteration over a 0-d array"), node)
        if rank > 1:
            self.arrays.appended.add(value.cell)  # its rows are views
        cell = Cell()
        self.state.heap[cell] = Growing(self.b.emit("list_unstack", self.arrays.sym(value)).operand)
        return ListVal(cell)

    def row(self, value: Ref, index: Num, node: core.Node) -> Value:
        items = (("int", index.operand),) + (("all",),) * (self.joins.ref_type(value).ndim - 1)
        return self.indexing.index_value(value, items, node)

    def store_item(self, owner: Value, index: Value, value: Value, node: core.Node) -> None:
        if isinstance(owner, Ref):
            self.indexing.assign_index(
                owner, self.indexing.index_items(owner, index, node), value, node
            )
            return
        if isinstance(owner, ListVal):
            self._store_list(owner, index, value, node)
            return
        if isinstance(owner, DictVal):
            self.effects.allow_effect(owner.cell, node)
            self.arrays.refuse_shared(owner.cell, node)
            content = self.state.heap[owner.cell]
            key = self.expressions.dict_key(index, node)
            if key in content.keys:
                values = list(content.values)
                values[content.keys.index(key)] = value
                self.state.heap[owner.cell] = Fields(content.keys, tuple(values))
            else:
                self.state.heap[owner.cell] = Fields((*content.keys, key), (*content.values, value))
            return
        if isinstance(owner, Rec):
            self.places.refuse(
                node, "writing to a structured array is not supported", "use plain arrays"
            )
        if isinstance(owner, TupleVal):
            raise self.places.located(
                TypeError("'tuple' object does not support item assignment"), node
            )
        if self.operators.call_special(owner, "__setitem__", (index, value), node) is not None:
            return
        self.places.refuse(
            node, f"writing into {kind_text(owner)} is not supported", "return the value instead"
        )

    def _store_list(self, owner: ListVal, index: Value, value: Value, node: core.Node) -> None:
        self.effects.allow_effect(owner.cell, node)
        self.arrays.refuse_shared(owner.cell, node)
        self.indexing.must_be_index(index, "list", node)
        content = self.state.heap[owner.cell]
        if isinstance(content, Items) and isinstance(index, Num) and index.known is not None:
            position = index.known[0]
            if not -len(content.values) <= position < len(content.values):
                self.attributes.no_element("list assignment index out of range")
            values = list(content.values)
            values[position] = value
            self.state.heap[owner.cell] = Items(tuple(values))
            return
        self.effects.refuse_growth(owner.cell, node)
        if isinstance(content, Items) and isinstance(index, Num):
            elem = self.joins._element_type((self.state, content), (self.state, Items((value,))))
            if elem is None:
                self.places.need_unroll(node)
            content = self.arrays.grow(content, elem, node)
        if not isinstance(content, Growing) or not isinstance(index, Num):
            self.places.refuse(node, "this assignment to a list is not supported")
        if not isinstance(value, (Num, Ref)):
            self.places.refuse(node, "a run-time list may hold numbers or arrays only")
        item = self.arrays.element(value)
        elem = content.operand.type.elem
        if item.ndim != elem.ndim:
            self.places.refuse(node, "a run-time list must hold elements of one rank")
        if isinstance(value, Ref):
            self.arrays.appended.add(value.cell)
        content = self.arrays.widened(content, item.type, node)
        elem = content.operand.type.elem
        with self.calls.guarding(node):
            changed = self.b.emit(
                "list_set", content.operand, index.operand, self.arrays.as_element(item, elem)
            )
        self.state.heap[owner.cell] = Growing(changed.operand)

    def store_attribute(self, owner: Value, name: str, value: Value, node: core.Node) -> None:
        if isinstance(owner, Obj):
            self.effects.store_on_object(owner, name, value, node)
            return
        if isinstance(owner, InstanceVal) and self.instances.store_in_instance(
            owner, name, value, node
        ):
            return
        self.places.refuse(
            node,
            f"writing to an attribute of {kind_text(owner)} is not supported",
            "return the new value instead",
        )

    def run_Augment(self, node: core.Augment) -> None:
        name = BINARY[node.op]
        target = node.target
        if isinstance(target, core.Name):
            current = self.expressions.eval(target)
            with self.hint(target):
                value = self.expressions.eval(node.value)
                if isinstance(current, Ref) and not self._binds_anew(current, node):
                    self._in_place(current, name, value, node)
                    return
                self.bind(target, self._augmented(name, current, value, node), node)
            return
        owner = self.expressions.eval(target.value)  # type: ignore[attr-defined]
        if isinstance(target, core.Item):
            index = self.expressions.eval(target.index)
            current = self.attributes.subscript(owner, index, target)
            value = self.expressions.eval(node.value)
            if isinstance(owner, Ref):
                self.arrays.refuse_tensor(owner.cell, node)
            if isinstance(current, Ref) and isinstance(owner, Ref) and current.cell is owner.cell:
                self._in_place(current, name, value, node)
            elif (
                isinstance(current, Ref)
                and not isinstance(owner, Ref)
                and not self._binds_anew(current, node)
            ):
                self._in_place(current, name, value, node)
            else:
                result = self._augmented(name, current, value, node)
                if isinstance(current, Ref) and isinstance(result, Ref):
                    have, want = (
                        self.joins.ref_type(result).dtype,
                        self.joins.ref_type(current).dtype,
                    )
                    self.require_same_kind(name, have, want, node)
                self.store_item(owner, index, result, target)
            return
        assert isinstance(target, core.Attr)
        current = self.attributes.attribute(owner, target.name, target)
        value = self.expressions.eval(node.value)
        if isinstance(current, Ref) and not self._binds_anew(current, node):
            self._in_place(current, name, value, node)
        else:
            self.store_attribute(
                owner, target.name, self._augmented(name, current, value, node), target
            )

    def _binds_anew(self, current: Ref, node: core.Node) -> bool:
        """Whether `a += b` makes a new `a`: tensors are never changed."""
        if current.cell.tensor is None:
            self.arrays.refuse_tensor(current.cell, node)
        return bool(current.cell.tensor)

    def _augmented(self, name: str, current: Value, value: Value, node: core.Node) -> Value:
        if isinstance(current, DictVal) and name == "bitwise_or":
            self.evaluator.call_method(current, "update", (value,), {}, node)
            return current
        if isinstance(current, ListVal) and name == "add":
            self.evaluator.call_method(current, "extend", (value,), {}, node)
            return current
        if isinstance(current, ListVal) and name == "multiply" and is_count(value):
            repeated = self.expressions.binary(name, current, value, node)
            self.effects.refuse_growth(current.cell, node)
            self.arrays.refuse_shared(current.cell, node)
            if current.cell in self.evaluator.loops.run_over:
                raise LengthChanges(current.cell, node)
            self.state.heap[current.cell] = self.state.heap[repeated.cell]
            return current
        special = self.operators.special_binary(name, current, value, node, in_place=True)
        if special is not None:
            return special
        result = self.expressions.binary(name, current, value, node)
        if isinstance(current, Num) and current.arrays and isinstance(result, Num):
            self._refuse_shared_scalar(current, node)
            return replace(result, arrays=current.arrays)
        if isinstance(current, Ref) and isinstance(result, Num):
            # A tensor of rank 0 stays one, so that a loop carries one kind of thing.
            result = self.arrays.as_tensor(
                self.calls.call_surface("numpy.array", (result,), {}, node)
            )
        return result

    def _refuse_shared_scalar(self, current: Num, node: core.Node) -> None:
        """Refuse to update an array of rank 0 with several names.  It is a scalar here, of which
        each name would keep its own value."""
        live = self.arrays.live_values()
        contents = (self.state.heap[cell] for cell in self.arrays.cells_in(live))
        values = [value for content in contents for value in getattr(content, "values", ())]
        same = 0
        todo = [*live, *values]
        while todo:
            value = todo.pop()
            if isinstance(value, TupleVal):
                todo += value.values
            elif isinstance(value, Num) and value.arrays & current.arrays:
                same += 1
        if same > 1:
            text = "in NumPy this is an array of rank 0 with another name, which would change, too"
            self.places.refuse(node, text, "write x = x + ... in place of x += ...")

    def _in_place(self, ref: Ref, name: str, value: Value, node: core.Node) -> None:
        """`a += b` writes into a's memory, in a's dtype."""
        result = self.expressions.binary(name, ref, value, node)
        dtype = self.joins.ref_type(ref).dtype
        out = self.arrays.sym(result)
        self.require_same_kind(name, out.dtype, dtype, node)
        if name == "matmul" and out.ndim != self.joins.ref_type(ref).ndim:
            text = "inplace matrix multiplication requires a result of the first operand's shape"
            raise self.places.located(ValueError(text), node)
        with self.calls.guarding(node):
            self.arrays.write(ref, (), out, node)

    def require_same_kind(self, name: str, have: str, want: str, node: core.Node) -> None:
        """What a ufunc writes into an array must be of the array's kind."""
        if not np.can_cast(have, want, "same_kind"):
            message = (
                f"Cannot cast ufunc '{name}' output from dtype('{have}') "
                f"to dtype('{want}') with casting rule 'same_kind'"
            )
            raise self.places.located(TypeError(message), node)

    # ---- branches

    def run_If(self, node: core.If) -> bool:
        cond = self.expressions.condition(node.test)
        if cond.known is not None:
            return self.run(node.body if cond.known[0] else node.orelse)
        return self.joins.if_(cond, lambda: self.run(node.body), lambda: self.run(node.orelse))

    def run_Raise(self, node: core.Raise) -> bool:
        exception, message = self._exception(node)
        self.b.block.append(Raise(exception, message, self.b.origin))
        return True

    def _exception(self, node: core.Raise) -> tuple[str, tuple[Any, ...]]:
        if node.error is None:
            self.places.refuse(node, "`raise` without an exception is not supported")
        call = node.error
        args: tuple[core.Expr, ...] = ()
        if isinstance(call, core.Call):
            args, call = call.args, call.function
        value = self.expressions.eval(call)
        cls = value.value if isinstance(value, Obj) else None
        if not (isinstance(cls, type) and issubclass(cls, Exception)):
            self.places.refuse(node, "only an exception class or its call can be raised here")
        if not hasattr(builtins, cls.__name__) and cls is not np.linalg.LinAlgError:
            self.places.refuse(
                node,
                f"raising {cls.__name__} is not supported",
                "raise ValueError or another builtin",
            )
        return cls.__name__, self.message(args)

    def message(self, args: tuple[core.Expr, ...]) -> tuple[Any, ...]:
        if not args:
            return ()
        if isinstance(args[0], core.Format):
            return tuple(self.evaluator.python_calls.message_parts(args[0]))
        value = self.expressions.eval(args[0])
        if isinstance(value, Num) and value.known is None:
            return (value.operand,)
        return (str(self.expressions.static(value, args[0], "the message")),)

    def run_Assert(self, node: core.Assert) -> bool:
        cond = self.expressions.condition(node.test)
        if cond.known is not None and cond.known[0]:
            return False

        def fail() -> bool:
            message = self.message((node.message,)) if node.message is not None else ()
            self.b.block.append(Raise("AssertionError", message, self.b.origin))
            return True

        if cond.known is not None:
            return fail()
        return self.joins.if_(cond, lambda: False, fail)


class _Hint:
    """Names temporaries after the variable being assigned."""

    def __init__(self, b: Builder, name: str) -> None:
        self.b, self.name = b, name

    def __enter__(self) -> None:
        self.saved, self.b.hint = self.b.hint, self.name

    def __exit__(self, *_: Any) -> None:
        self.b.hint = self.saved
