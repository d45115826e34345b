"""Statements: control flow and assignment."""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...frontend.check_subset import HIDDEN
from ...ir.builder import Sym
from ...ir.nodes import Assign, Call, Draw, If, Phi, Raise, Var
from ...ir.record import field, record
from ...syntax import core
from ..control.caught_errors import CaughtErrors
from ..control.joins import Joins
from ..dispatch import runs, table
from ..frames import Frames
from ..heap.arrays import Arrays
from ..heap.lists import Lists
from ..operations.attributes import Attributes
from ..operations.formatting import Formatting
from ..operations.iterators import Iterators
from ..operations.stores import Stores
from ..operations.truth import Truth
from ..outside.objects import Objects
from ..places import TOO_DEEP, Places
from ..session import Part, fixed
from ..values import (
    Closure,
    Disagreement,
    Ended,
    Growing,
    ListVal,
    Num,
    Obj,
    Partial,
    PyObject,
    Ref,
    SliceVal,
    Value,
    array,
    constant,
    kind_text,
    number,
)
from .augments import Augments, hint
from .expressions import Expressions
from .imports import Imports
from .loops import Loops
from .managers import Managers
from .while_loops import WhileLoops


@record(eq=False)
class Statements(Part):
    """Statements and assignment."""

    imports: Imports
    managers: Managers
    augments: Augments
    loops: Loops
    while_loops: WhileLoops
    places: Places
    arrays: Arrays
    lists: Lists
    joins: Joins
    objects: Objects
    attributes: Attributes
    stores: Stores
    truth: Truth
    iterators: Iterators
    formatting: Formatting
    frames: Frames
    caught_errors: CaughtErrors
    expressions: Expressions
    # names that are second names for arrays
    aliases: set[str] = field(default_factory=set, init=False)
    # whether the statement being run is the last one of a loop's body
    closing: bool = field(default=False, init=False)
    runners: dict[type, Callable[[Any], bool | None]] = fixed()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.runners = table(
            "runs",
            self,
            self.imports,
            self.managers,
            self.augments,
            self.loops,
            self.while_loops,
            self.caught_errors,
        )

    def run(self, stmts: core.Block, loop: bool = False) -> bool:
        """Runs a block (the body of a `loop`, maybe); True if it always ends in an error."""
        around = self.places.position()
        ends = self._run_each(stmts, loop)
        self.places.resume(around)
        return ends

    def _run_each(self, stmts: core.Block, loop: bool) -> bool:
        for stmt in stmts:
            self.places.begin(stmt)
            self.closing = loop and stmt is stmts[-1]
            with self.b.at(self.places.origin(stmt)):
                method = self.runners.get(type(stmt))
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

    @runs(core.Pass)
    def run_Pass(self, node: core.Pass) -> None:
        pass

    @runs(core.Global)
    def run_Global(self, node: core.Global) -> None:
        free = self.places.frame.function.__code__.co_freevars
        if any(name in free for name in node.names):
            self.places.refuse(node, *HIDDEN)  # the name would be looked up in the closure first

    @runs(core.Refused)
    def run_Refused(self, node: core.Refused) -> None:
        self.places.refuse(node, node.message, node.advice)

    @runs(core.Eval)
    def run_Eval(self, node: core.Eval) -> None:
        if not isinstance(node.value, core.Const):
            self.evaluator.eval(node.value)

    @runs(core.Return)
    def run_Return(self, node: core.Return) -> None:
        self.places.frame.result = (
            Obj(None) if node.value is None else self.evaluator.eval(node.value)
        )

    @runs(core.Define)
    def run_Define(self, node: core.Define) -> None:
        decorators = [(decorator, self.evaluator.eval(decorator)) for decorator in node.decorators]
        value: Value = self.frames.closure(node.func)
        for decorator, by in reversed(decorators):
            value = self._decorated(decorator, by, value)
        self.state.env[node.func.name] = value

    def _decorated(self, decorator: core.Expr, by: Value, value: Value) -> Value:
        """What a decorator makes of an inner function."""
        inner = by.function if isinstance(by, Partial) else by
        if isinstance(inner, Obj) and inner.value is functools.update_wrapper:
            return value  # `@functools.wraps(f)` sets what compiled code does not read
        if isinstance(inner, Obj) and hasattr(inner.value, "_s2s_transform"):
            return self.evaluator.call(by, (value,), {}, decorator)
        if isinstance(inner, Closure) or (
            isinstance(inner, Obj) and isinstance(inner.value, types.FunctionType)
        ):
            return self.evaluator.call(by, (value,), {}, decorator)
        return self.places.refuse(
            decorator,
            f"{kind_text(by)} as the decorator of an inner function is not supported",
            "decorate a function at module level",
        )

    # ---- assignment

    @runs(core.Assign)
    def run_Assign(self, node: core.Assign) -> None:
        with hint(self.b, node.targets[0]):
            value = self.evaluator.eval(node.value)
        for target in node.targets:
            self.bind(target, value, node)

    def bind(self, target: core.Expr, value: Value, node: core.Node) -> None:
        if isinstance(target, core.Name):
            # A name in angle brackets is the compiler's own: `<k scope>` stands for `k`.
            shown = target.id[1:].split()[0] if target.id[0] == "<" else target.id
            value = self.named(shown, value)
            self.state.env[target.id] = value
        elif isinstance(target, core.Seq):
            self._unpack(target, value, node)
        elif isinstance(target, core.Item):
            owner = self.evaluator.eval(target.value)
            self.stores.store_item(owner, self.evaluator.eval(target.index), value, target)
        elif isinstance(target, core.Attr):
            self.stores.store_attribute(
                self.evaluator.eval(target.value), target.name, value, target
            )
        else:
            self.places.refuse(target, "this kind of target is not supported")

    def named(self, name: str, value: Value) -> Value:
        """A result computed for this very statement takes the user's name."""
        if isinstance(value, Num):
            if not isinstance(value.operand, Var):
                literal = self.b.emit("literal", value.operand, hint=name, user=name)
                return replace(value, operand=literal.operand)
            operand = self._rename(value.operand, name)
            if operand.user in ("", name):
                self._note_name(name, operand)
            elif operand.user != name and self.places.frame.depth == 0:
                # Two names, two values: what the user's text says depends on which is which.
                operand = self.b.emit("copy", operand, hint=name, user=name).operand
            return value if operand is value.operand else replace(value, operand=operand)
        if isinstance(value, Ref):
            if not value.path:
                content = self.state.heap[value.cell]
                if not value.cell.label:
                    value.cell.label = name
                self.state.heap[value.cell] = self._rename(content, name)
                self._note_name(name, self.state.heap[value.cell])
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

    def _note_name(self, name: str, value: Any) -> None:
        """Remembers a name for a value, which may have been computed in another function."""
        frame = self.places.frame
        own = isinstance(value, Var) and (value.user == name or value.user not in frame.locals)
        if own and frame.depth == 0:
            self.b.names.given.setdefault(value.name, name)

    def _note_alias(self, name: str, value: Var) -> None:
        """A second name for an array leaves no statement behind, so text that mentions it
        cannot be checked; at the end of a loop's body the next iteration names it anew."""
        known = value.user in (name, "") or self.b.names.given.get(value.name) == name
        if not known and self.places.frame.depth == 0 and not self.closing:
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
        items = self.objects.static_items(value)
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
                self._check_unpacked(number(count), len(names), node)
                items = [self.lists.list_element(content, i) for i in range(len(names))]
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
        self._check_unpacked(self.arrays.size(self.arrays.sym(value), 0), count, node)
        return [self.attributes.row(value, constant(i), node) for i in range(count)]

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
        size = self.arrays.size(self.arrays.sym(value), 0)
        enough = self.b.sym(size.operand) >= others
        least = f"not enough values to unpack (expected at least {others}, got "
        self.b.check(enough, "ValueError", least, self.b.sym(size.operand), ")")
        after = others - at
        until = constant(-after) if after else None
        rest = self.attributes.subscript(value, SliceVal(constant(at), until, None), node)
        edges = [*range(at), *range(-after, 0)]
        items = [self.attributes.row(value, constant(i), node) for i in edges]
        return [*items[:at], self.stores.rows_of(array(rest), node), *items[at:]]

    # ---- branches

    @runs(core.If)
    def run_If(self, node: core.If) -> bool:
        cond = self.truth.condition(node.test)
        if cond.known is not None:
            return self.run(node.body if cond.known[0] else node.orelse)
        return self.joins.if_(cond, lambda: self.run(node.body), lambda: self.run(node.orelse))

    @runs(core.Raise)
    def run_Raise(self, node: core.Raise) -> bool:
        exception, message = self._exception(node)
        self.b.block.append(Raise(exception, message, self.b.origin))
        return True

    def _exception(self, node: core.Raise) -> tuple[str, tuple[Any, ...]]:
        if node.error is None:
            text = "`raise` without an exception is not supported"
            self.places.refuse(node, text, "name the exception")
        call = node.error
        args: tuple[core.Expr, ...] = ()
        if isinstance(call, core.Call):
            args, call = call.args, call.function
        value = self.evaluator.eval(call)
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

    def message(self, args: tuple[core.Expr, ...]) -> tuple[PyObject, ...]:
        if not args:
            return ()
        if isinstance(args[0], core.Format):
            return tuple(self.formatting.message_parts(args[0]))
        value = self.evaluator.eval(args[0])
        if isinstance(value, Num) and value.known is None:
            return (value.operand,)
        return (str(self.arrays.static(value, args[0], "the message")),)

    @runs(core.Assert)
    def run_Assert(self, node: core.Assert) -> bool:
        cond = self.truth.condition(node.test)
        if cond.known is not None and cond.known[0]:
            return False

        def fail() -> bool:
            message = self.message((node.message,)) if node.message is not None else ()
            self.b.block.append(Raise("AssertionError", message, self.b.origin))
            return True

        if cond.known is not None:
            return fail()
        return self.joins.if_(cond, lambda: False, fail)
