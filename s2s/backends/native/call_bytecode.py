"""The written-out call of a specialisation (`s2s.call.call_stub`) as a plan, which a C function
runs.

The text of a call is read again, and what is simple in it, most of the time all of it, becomes a
step: reaching objects, comparing them, entering the kernel, putting results together.  A
plan may be stricter than the text, never laxer: what it takes for a misfit, the text decides.  If
there is something it has no step for, there is no plan.
"""

from __future__ import annotations

import ast
import inspect
import struct
import sys
import types
from collections.abc import Sequence
from typing import Any

from ...call.guards import Constants
from ...objects import change_counter
from .call_vm import (
    CELL,
    CONSTANT,
    FIELDS,
    HEADER,
    TABLE,
    TAG,
    entry_count,
    entry_places,
    field,
    is_known,
    read_word,
    tag_of,
)
from .call_vm_ops import OPEN, OPERATIONS
from .object_layout import TYPE

_ALL = (1 << 64) - 1
_OPERATION = {name: i for i, name in enumerate(OPERATIONS)}


class _NoPlan(Exception):
    """There is no step for something."""


def plan(
    constant: Constants,
    arity: int,
    before: Sequence[str],
    rarely: list[str],
    given: Sequence[str],
    results: int,
    after: Sequence[str],
) -> tuple[Any, ...] | None:
    """The plan of a call with so many arguments `a0`, `a1`, … : the lines `before` the kernel is
    entered, what it is `given`, how many `results` it has, and the lines `after`, which use them as
    `rest`.  Lines that are `rarely` run, after a change is announced, are left to the text; some
    may be added."""
    if not is_known():
        return None
    writer = _Writer(constant, arity, rarely)
    try:
        for line in before:
            writer.line(line)
        return writer.finish(given, results, after)
    except _NoPlan:
        return None


class _Writer:
    def __init__(self, constant: Constants, arity: int, rarely: list[str]) -> None:
        self.name_of, self.space = constant, (space := constant.space)
        self.arity, self.rarely = arity, rarely
        self.known: set[int] = set()  # the classes that have not changed
        program = object()  # which is known at the end
        self.items: list[Any] = [program, space["kept"], space["kernel"], space["failed"]]
        self.places = {id(item): i for i, item in enumerate(self.items)}
        self.words: list[int] = []
        self.names: dict[str, int] = {}
        self.registers = arity
        self.watched: list[tuple[int, int, int]] = []  # not yet in a step
        self.tables: set[int] = set()  # the dicts whose tables are looked at in that

    # ---- words

    def step(self, operation: str, *words: int, writes: int = 0) -> int:
        """A step; the first of the registers it writes to."""
        if operation in OPEN:
            self.look()
        target = self.registers
        self.registers += writes
        self.words += [_OPERATION[operation], target, *words]
        return target

    def item(self, value: Any) -> int:
        """The operand for an object."""
        if type(value) is str:
            value = sys.intern(value)
        if id(value) not in self.places:
            self.places[id(value)] = len(self.items)
            self.items.append(value)
        return CONSTANT + self.places[id(value)]

    def watch(self, holder: Any, offset: int, wanted: int, bits: int = 64) -> None:
        """A look at an object, and at what is somewhere in it.  Many are one step, made when
        nothing but the kernel, or what may change all, comes after them."""
        self.item(holder)
        self.watched.append((id(holder) + offset, (1 << bits) - 1, wanted))

    def watch_object(self, holder: Any, offset: int, wanted: Any) -> None:
        if type(wanted) is str:  # of which another, equal one is kept
            raise _NoPlan
        self.item(wanted)
        self.watch(holder, offset, id(wanted))

    def watch_entry(self, holder: dict[str, Any], key: str, wanted: Any) -> bool:
        """A look at what a dict has under a key, without a search; whether that is possible."""
        places = entry_places(holder, key) if holder.get(key) is wanted else None
        if places is None:
            return False
        table, place = places
        self.watch_table(holder, table)
        self.item(wanted)
        self.watched += [(place + 8 * k, _ALL, read_word(place + 8 * k)) for k in (0, 1)]
        return True

    def watch_absence(self, holder: dict[str, Any], key: str) -> bool:
        """A look at whether a dict has got keys since: if it has, the text decides."""
        count = entry_count()
        if key in holder or not count:
            return False
        table = read_word(id(holder) + TABLE)
        self.watch_table(holder, table)
        wanted = (table + count, _ALL, read_word(table + count))
        if wanted not in self.watched:
            self.watched.append(wanted)
        return True

    def watch_table(self, holder: dict[str, Any], table: int) -> None:
        """Before each look at a table: that it is still the one of the dict."""
        if id(holder) not in self.tables:
            self.watch(holder, TABLE, table)
            self.tables.add(id(holder))

    def look(self) -> None:
        self.tables.clear()
        if self.watched:
            told = b"".join(struct.pack("=3Q", *one) for one in self.watched)
            self.step("watch", self.item(told), len(self.watched))
            self.watched = []

    def constant(self, node: ast.expr) -> Any:
        """What a name or literal stands for; it is always the same object."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id not in self.names and node.id in self.space:
            return self.space[node.id]
        raise _NoPlan

    # ---- text

    def line(self, line: str) -> None:
        (stmt,) = ast.parse(line).body
        match stmt:
            case ast.If(test=test, body=[ast.Return(value=ast.Name(id="MISS"))], orelse=[]):
                self.never(test)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.names[name] = self.value(value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Name(id="a")):
                for i, name in enumerate(names):
                    assert isinstance(name, ast.Name)
                    self.names[name.id] = i
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                known = self.is_dict(target.value, target.slice)
                operands = map(self.value, (target.value, target.slice, value))
                self.step("set_entry" if known else "set_item", *operands)
            case _:
                raise _NoPlan

    def value(self, node: ast.expr) -> int:
        """The operand for the value of an expression."""
        match node:
            case ast.Name(id=name) if name in self.names:
                return self.names[name]
            case ast.Name() | ast.Constant():
                return self.item(self.constant(node))
            case ast.Subscript(value=ast.Name(id="kept"), slice=ast.Constant(value=int(i))):
                return self.step("kept", i, writes=1)
            case ast.Subscript(value=ast.Name(id="rest"), slice=ast.Constant(value=int(i))):
                return self.names["rest"] + i
            case ast.Subscript(value=holder, slice=key) if self.is_dict(holder, key):
                return self.entry(self.constant(holder), self.constant(key))
            case ast.Subscript(value=holder, slice=key):
                return self.step("item", self.value(holder), self.value(key), writes=1)
            case ast.Attribute(value=ast.Name(id=root), attr=name) if self.is_stored(root, name):
                return self.entry(vars(self.space[root]), name)
            case ast.Attribute(value=holder, attr=name) if self.is_settled(holder, name):
                return self.item(getattr(self.settled(holder), name))
            case ast.Attribute(value=holder, attr=name):
                return self.step("attribute", self.value(holder), self.item(name), writes=1)
            case ast.Tuple(elts=parts):
                operands = [*map(self.value, parts)]
                return self.step("tuple", len(operands), *operands, writes=1)
            case ast.List(elts=parts):
                operands = [*map(self.value, parts)]
                return self.step("list", len(operands), *operands, writes=1)
            case ast.Dict(keys=keys, values=parts):
                named = self.item(tuple(self.constant(k) for k in keys if k is not None))
                operands = [*map(self.value, parts)]
                return self.step("dict", len(operands), named, *operands, writes=1)
        raise _NoPlan

    def never(self, test: ast.expr) -> None:
        """Steps for a condition under which a call does not fit."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                self.always(inner)
            case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[right]):
                self.same(left, right)
            case ast.BoolOp(op=ast.And(), values=[first, *_]):
                # If only the others are false, the text decides.
                self.never(first)
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[holder]),
                ops=[ast.NotEq()],
                comparators=[ast.Constant(value=int(size))],
            ) if size < CONSTANT:
                self.step("length", self.value(holder), size)
            case ast.Compare(
                left=ast.List(elts=[ast.Starred(value=holder)]),
                ops=[ast.NotEq()],
                comparators=[keys],
            ):
                self.keys(holder, keys)
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]):
                self.step("differ", self.value(left), self.value(right))
            case ast.Compare(left=key, ops=[ast.In()], comparators=[holder]):
                self.absent(holder, key)
            case ast.Name() if type(self.constant(test)) in (set, list):
                self.step("empty", self.value(test))
            case _:
                raise _NoPlan

    def always(self, test: ast.expr) -> None:
        """Steps for a condition under which alone a call fits."""
        match test:
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]):
                self.same(left, right)
            case ast.Compare(left=key, ops=[ast.NotIn()], comparators=[holder]):
                self.absent(holder, key)
            case ast.UnaryOp(
                op=ast.Not(), operand=ast.Call(func=ast.Name(id="hasattr"), args=[holder, _])
            ):
                # A class that does not change gets no attribute.
                cls = self.settled(holder)
                if type(cls) is not type or not self.is_unchanged(cls):
                    raise _NoPlan
            case ast.BoolOp(
                op=ast.And(),
                values=[
                    ast.Compare(
                        left=ast.NamedExpr(target=ast.Name(id=name), value=value),
                        ops=[ast.Eq()],
                        comparators=[ast.Constant(value=int() | str()) as wanted],
                    ),
                    ast.Compare(
                        left=ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=same)]),
                        ops=[ast.Is()],
                        comparators=[ast.Name(id="int" | "str")],
                    ),
                ],
            ) if name == same:
                self.step("equal", self.value(value), self.value(wanted))
            case ast.BoolOp(op=ast.And(), values=tests):
                for part in tests:
                    self.always(part)
            case ast.BoolOp(op=ast.Or(), values=[first, *_]):
                # Otherwise the text decides.
                self.always(first)
            case ast.IfExp(test=first, body=second):
                # Otherwise the text decides.
                self.always(first)
                self.always(second)
            case ast.Call(func=ast.Name(id="same_items"), args=[left, right]):
                self.step("same", self.value(left), self.value(right))
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="tuple"), args=[holder]),
                ops=[ast.Eq()],
                comparators=[keys],
            ):
                self.keys(holder, keys)
            case _:
                raise _NoPlan

    def absent(self, holder: ast.expr, key: ast.expr) -> None:
        if type(self.constant(holder)) is not dict:
            raise _NoPlan
        if "__name__" in self.constant(holder):  # of a module: it gets few names
            if self.watch_absence(self.constant(holder), self.constant(key)):
                return
        self.step("absent", self.value(holder), self.value(key))

    def keys(self, holder: ast.expr, keys: ast.expr) -> None:
        wanted = tuple(self.constant(keys))
        if not {*map(type, wanted)} <= {str, int}:  # comparing others may run anything
            raise _NoPlan
        self.step("keys", self.value(holder), self.item(wanted))

    def same(self, left: ast.expr, right: ast.expr) -> None:
        match left:
            case ast.Attribute(value=holder, attr="cell_contents") if self.is_a(
                holder, types.CellType
            ):
                self.watch_object(self.constant(holder), CELL, self.constant(right))
            case ast.Attribute(value=holder, attr=name) if name in FIELDS and self.is_a(
                holder, types.FunctionType
            ):
                self.watch_object(self.constant(holder), field(name), self.constant(right))
            case ast.Call(func=ast.Name(id="type"), args=[value]):
                self.step("type_is", self.value(value), self.value(right))
            case ast.Subscript(value=holder, slice=key) if (
                self.is_dict(holder, key)
                and self.is_a(right, None)
                and self.watch_entry(
                    self.constant(holder), self.constant(key), self.constant(right)
                )
            ):
                pass
            case _:
                operands = self.value(left), self.value(right)
                if operands[0] != operands[1] or operands[0] < CONSTANT:
                    self.step("is", *operands)

    def is_a(self, node: ast.expr, cls: type | None) -> bool:
        """Whether a name stands for an object of a class, or for any object that stays."""
        if not isinstance(node, ast.Name) or node.id in self.names or node.id not in self.space:
            return False
        return cls is None or type(self.space[node.id]) is cls

    def is_dict(self, holder: ast.expr, key: ast.expr) -> bool:
        """Whether it is known which dict this is, and the key is a string."""
        try:
            return type(self.constant(holder)) is dict and type(self.constant(key)) is str
        except _NoPlan:
            return False

    def entry(self, holder: dict[Any, Any], key: str) -> int:
        place = [*holder].index(key) if key in holder else 0
        return self.step("entry", self.item(holder), self.item(key), min(place, 1000), writes=1)

    # ---- attributes

    def is_stored(self, holder: str, name: str) -> bool:
        """Whether an attribute is what the dictionary of an object has by that name, until a
        change is announced."""
        value = self.space.get(holder)
        cls = type(value)
        if holder in self.names or not change_counter.tells(value) or name not in vars(value):
            return False
        plain = cls.__getattribute__ is object.__getattribute__
        if not plain or hasattr(inspect.getattr_static(cls, name, None), "__set__"):
            return False
        if not self.is_unchanged(cls):
            return False
        attributes, class_ = self.name_of(vars(value)), self.name_of(cls)
        moved = f"{holder}.__dict__ is not {attributes} or type({holder}) is not {class_}"
        line = f"if {moved}: return MISS"
        if line not in self.rarely:
            self.rarely.insert(0, line)
        return True

    def settled(self, node: ast.expr) -> Any:
        """An object that an expression stands for, by what has been looked at; or None."""
        match node:
            case ast.Name(id=name) if name in self.names:
                operand = self.names[name]
                return self.items[operand - CONSTANT] if operand >= CONSTANT else None
            case ast.Name(id=name):
                return self.space.get(name)
            case ast.Attribute(value=holder, attr=name) if self.is_settled(holder, name):
                return getattr(self.settled(holder), name)
        return None

    def is_settled(self, holder: ast.expr, name: str) -> bool:
        """Whether an attribute is the class of an object, or a function or property of a class,
        as long as the class does not change."""
        value = self.settled(holder)
        if name == "__class__":
            return value is not None and self.is_of(value)
        if type(value) is property:  # whose functions stay the same
            return name in ("fget", "fset", "fdel")
        if type(value) is not type:
            return False
        found = inspect.getattr_static(value, name, None)
        return type(found) in (types.FunctionType, property) and self.is_unchanged(value)

    def is_of(self, value: Any) -> bool:
        """Has it looked at whether an object is still of its class, and says that it is."""
        cls = type(value)
        plain = cls.__getattribute__ is object.__getattribute__
        own = inspect.getattr_static(cls, "__class__", None) is vars(object)["__class__"]
        if not (plain and own and self.is_unchanged(cls)):
            return False
        self.watch_object(value, TYPE, cls)
        return True

    def is_unchanged(self, cls: type) -> bool:
        """Has it looked at in every call."""
        if id(cls) not in self.known:
            tag = tag_of(cls)
            if not tag:
                return False
            self.watch(cls, TAG, tag, 32)
            self.known.add(id(cls))
        return True

    # ---- the whole

    def finish(self, given: Sequence[str], results: int, after: Sequence[str]) -> tuple[Any, ...]:
        if self.rarely:
            self.step("seen", self.item(self.space["changes"]))
        expressions = [ast.parse(text, mode="eval").body for text in given]
        operands = [*map(self.value, expressions)]
        self.look()
        entrance = HEADER + len(self.words)
        self.names["rest"] = self.step("enter", results, len(operands), *operands, writes=results)
        for line in after:
            if line.startswith("return "):
                result = self.value(ast.parse(line.removeprefix("return "), mode="eval").body)
                self.words += [_OPERATION["return"], result]
            else:
                self.line(line)
        words = [self.arity, max(self.registers, 1), entrance, *self.words]
        if max(len(self.items), self.registers) >= CONSTANT or len(words) > 2 * CONSTANT:
            raise _NoPlan
        self.items[0] = struct.pack(f"={len(words)}H", *words)
        return tuple(self.items)
