"""Compiles call stubs (`s2s.call.call_stub`) to bytecode, called a plan, for the call VM.

The Python source of a stub is parsed, and each statement becomes instructions: attribute and item
access, comparisons, the kernel call, the construction of results.  The checks of a plan may be
stricter than those of the stub, never weaker: if the plan misses, the Python stub decides.  If a
statement has no translation, which is rare, there is no plan.
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
from ...runtime.object_layout import TYPE_OFFSET
from .call_vm import (
    CELL_CONTENTS_OFFSET,
    DICT_KEYS_OFFSET,
    FIRST_CONSTANT_OPERAND,
    FUNCTION_FIELDS,
    HEADER_WORDS,
    VERSION_TAG_OFFSET,
    dict_entry_addresses,
    entry_count_offset,
    function_field_offset,
    is_vm_layout_known,
    read_word,
    version_tag,
)
from .call_vm_ops import OPERATIONS, RUNS_PYTHON

_ALL_BITS = (1 << 64) - 1
_OPCODE = {name: i for i, name in enumerate(OPERATIONS)}


class _Untranslatable(Exception):
    """A statement or expression has no translation to bytecode."""


def compile_stub(
    constant: Constants,
    arity: int,
    before: Sequence[str],
    rarely: list[str],
    given: Sequence[str],
    results: int,
    after: Sequence[str],
) -> tuple[Any, ...] | None:
    """The plan of a stub with `arity` arguments `a0`, `a1`, …; None if there is no translation.
    `before` are the lines before the kernel call, `given` its arguments, `results` the number of
    its results, `after` the lines after it, which refer to the results as `rest`.  The lines
    `after_change`, which run after the change counter has moved, are left to the Python stub; the
    translation may add to them."""
    if not is_vm_layout_known():
        return None
    writer = _Writer(constant, arity, rarely)
    try:
        for line in before:
            writer.line(line)
        return writer.finish(given, results, after)
    except _Untranslatable:
        return None


class _Writer:
    def __init__(self, constant: Constants, arity: int, rarely: list[str]) -> None:
        self.name_of, self.space = constant, (space := constant.space)
        self.arity, self.rarely = arity, rarely
        self.known: set[int] = set()  # the classes whose version tags are watched
        program = object()  # placeholder for the bytecode, replaced at the end
        self.items: list[Any] = [program, space["kept"], space["kernel"], space["failed"]]
        self.places = {id(item): i for i, item in enumerate(self.items)}
        self.words: list[int] = []
        self.names: dict[str, int] = {}
        self.registers = arity
        self.watched: list[tuple[int, int, int]] = []  # pending: (address, mask, expected)
        self.tables: set[int] = set()  # the dicts whose tables the pending watches cover

    # ---- instructions

    def step(self, operation: str, *words: int, writes: int = 0) -> int:
        """Emit an instruction; the first of the registers it writes to."""
        if operation in RUNS_PYTHON:
            self.emit_watches()
        target = self.registers
        self.registers += writes
        self.words += [_OPCODE[operation], target, *words]
        return target

    def item(self, value: Any) -> int:
        """The operand for a constant object."""
        if type(value) is str:
            value = sys.intern(value)
        if id(value) not in self.places:
            self.places[id(value)] = len(self.items)
            self.items.append(value)
        return FIRST_CONSTANT_OPERAND + self.places[id(value)]

    def watch(self, holder: Any, offset: int, wanted: int, bits: int = 64) -> None:
        """Check a word in memory, at an offset in an object.  Checks are collected into one `watch`
        instruction, which is emitted before the kernel call, or before an instruction that may run
        arbitrary Python code."""
        self.item(holder)
        self.watched.append((id(holder) + offset, (1 << bits) - 1, wanted))

    def watch_object(self, holder: Any, offset: int, wanted: Any) -> None:
        """Check that a pointer in an object refers to `wanted`."""
        if type(wanted) is str:  # `item` interns strings: an equal object, not this one
            raise _Untranslatable
        self.item(wanted)
        self.watch(holder, offset, id(wanted))

    def watch_entry(self, holder: dict[str, Any], key: str, wanted: Any) -> bool:
        """Check the value of a dict under a key at the address of its entry, without a lookup;
        False if that is not possible."""
        places = dict_entry_addresses(holder, key) if holder.get(key) is wanted else None
        if places is None:
            return False
        table, place = places
        self.watch_table(holder, table)
        self.item(wanted)
        self.watched += [(place + 8 * k, _ALL_BITS, read_word(place + 8 * k)) for k in (0, 1)]
        return True

    def watch_absence(self, holder: dict[str, Any], key: str) -> bool:
        """Check the absence of a key by the number of entries ever inserted: after any insertion
        the Python stub decides.  False if that is not possible."""
        count = entry_count_offset()
        if key in holder or not count:
            return False
        table = read_word(id(holder) + DICT_KEYS_OFFSET)
        self.watch_table(holder, table)
        wanted = (table + count, _ALL_BITS, read_word(table + count))
        if wanted not in self.watched:
            self.watched.append(wanted)
        return True

    def watch_table(self, holder: dict[str, Any], table: int) -> None:
        """Check that the keys table of a dict has not been reallocated, before checks of its
        entries."""
        if id(holder) not in self.tables:
            self.watch(holder, DICT_KEYS_OFFSET, table)
            self.tables.add(id(holder))

    def emit_watches(self) -> None:
        """Emit the collected memory checks."""
        self.tables.clear()
        if self.watched:
            packed = b"".join(struct.pack("=3Q", *one) for one in self.watched)
            self.step("watch", self.item(packed), len(self.watched))
            self.watched = []

    def constant(self, node: ast.expr) -> Any:
        """The value of a literal, or of a name that is bound to a constant."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name) and node.id not in self.names and node.id in self.space:
            return self.space[node.id]
        raise _Untranslatable

    # ---- statements and expressions

    def line(self, line: str) -> None:
        """Translate one line of the stub."""
        (stmt,) = ast.parse(line).body
        match stmt:
            case ast.If(test=test, body=[ast.Return(value=ast.Name(id="MISS"))], orelse=[]):
                self.miss_if(test)
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
                raise _Untranslatable

    def value(self, node: ast.expr) -> int:
        """Translate an expression; the operand for its value."""
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
            case ast.Attribute(value=ast.Name(id=root), attr=name) if self.is_instance_attribute(
                root, name
            ):
                return self.entry(vars(self.space[root]), name)
            case ast.Attribute(value=holder, attr=name) if self.is_constant_attribute(holder, name):
                return self.item(getattr(self.constant_value(holder), name))
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
        raise _Untranslatable

    def miss_if(self, test: ast.expr) -> None:
        """Translate a check: the plan misses if `test` is true."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                self.miss_unless(inner)
            case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[right]):
                self.check_identical(left, right)
            case ast.BoolOp(op=ast.And(), values=[first, *_]):
                # Stricter: miss if the first operand is true; the Python stub decides.
                self.miss_if(first)
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="len"), args=[holder]),
                ops=[ast.NotEq()],
                comparators=[ast.Constant(value=int(size))],
            ) if size < FIRST_CONSTANT_OPERAND:
                self.step("length", self.value(holder), size)
            case ast.Compare(
                left=ast.List(elts=[ast.Starred(value=holder)]),
                ops=[ast.NotEq()],
                comparators=[keys],
            ):
                self.check_keys(holder, keys)
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]):
                self.step("differ", self.value(left), self.value(right))
            case ast.Compare(left=key, ops=[ast.In()], comparators=[holder]):
                self.check_absent(holder, key)
            case ast.Name() if type(self.constant(test)) in (set, list):
                self.step("empty", self.value(test))
            case _:
                raise _Untranslatable

    def miss_unless(self, test: ast.expr) -> None:
        """Translate a check: the plan misses unless `test` is true."""
        match test:
            case ast.Compare(left=left, ops=[ast.Is()], comparators=[right]):
                self.check_identical(left, right)
            case ast.Compare(left=key, ops=[ast.NotIn()], comparators=[holder]):
                self.check_absent(holder, key)
            case ast.UnaryOp(
                op=ast.Not(), operand=ast.Call(func=ast.Name(id="hasattr"), args=[holder, _])
            ):
                # A class whose version tag is unchanged has got no new attribute.
                cls = self.constant_value(holder)
                if type(cls) is not type or not self.watch_version_tag(cls):
                    raise _Untranslatable
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
                    self.miss_unless(part)
            case ast.BoolOp(op=ast.Or(), values=[first, *_]):
                # Stricter: the first operand must be true; otherwise the Python stub decides.
                self.miss_unless(first)
            case ast.IfExp(test=first, body=second):
                # Stricter: both must be true; otherwise the Python stub decides.
                self.miss_unless(first)
                self.miss_unless(second)
            case ast.Call(func=ast.Name(id="same_items"), args=[left, right]):
                self.step("same", self.value(left), self.value(right))
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="tuple"), args=[holder]),
                ops=[ast.Eq()],
                comparators=[keys],
            ):
                self.check_keys(holder, keys)
            case _:
                raise _Untranslatable

    def check_absent(self, holder: ast.expr, key: ast.expr) -> None:
        if type(self.constant(holder)) is not dict:
            raise _Untranslatable
        if "__name__" in self.constant(holder):  # a module: insertions are rare
            if self.watch_absence(self.constant(holder), self.constant(key)):
                return
        self.step("absent", self.value(holder), self.value(key))

    def check_keys(self, holder: ast.expr, keys: ast.expr) -> None:
        wanted = tuple(self.constant(keys))
        if not {*map(type, wanted)} <= {str, int}:  # comparing others may run arbitrary code
            raise _Untranslatable
        self.step("keys", self.value(holder), self.item(wanted))

    def check_identical(self, left: ast.expr, right: ast.expr) -> None:
        match left:
            case ast.Attribute(value=holder, attr="cell_contents") if self.is_constant_of(
                holder, types.CellType
            ):
                self.watch_object(self.constant(holder), CELL_CONTENTS_OFFSET, self.constant(right))
            case ast.Attribute(value=holder, attr=name) if (
                name in FUNCTION_FIELDS and self.is_constant_of(holder, types.FunctionType)
            ):
                self.watch_object(
                    self.constant(holder), function_field_offset(name), self.constant(right)
                )
            case ast.Call(func=ast.Name(id="type"), args=[value]):
                self.step("type_is", self.value(value), self.value(right))
            case ast.Subscript(value=holder, slice=key) if (
                self.is_dict(holder, key)
                and self.is_constant_of(right, None)
                and self.watch_entry(
                    self.constant(holder), self.constant(key), self.constant(right)
                )
            ):
                pass
            case _:
                operands = self.value(left), self.value(right)
                if operands[0] != operands[1] or operands[0] < FIRST_CONSTANT_OPERAND:
                    self.step("is", *operands)

    def is_constant_of(self, node: ast.expr, cls: type | None) -> bool:
        """True if a node is the name of a constant, of the given class if that is not None."""
        if not isinstance(node, ast.Name) or node.id in self.names or node.id not in self.space:
            return False
        return cls is None or type(self.space[node.id]) is cls

    def is_dict(self, holder: ast.expr, key: ast.expr) -> bool:
        """True if the holder is a constant dict and the key a constant string."""
        try:
            return type(self.constant(holder)) is dict and type(self.constant(key)) is str
        except _Untranslatable:
            return False

    def entry(self, holder: dict[Any, Any], key: str) -> int:
        place = [*holder].index(key) if key in holder else 0
        return self.step("entry", self.item(holder), self.item(key), min(place, 1000), writes=1)

    # ---- attributes

    def is_instance_attribute(self, holder: str, name: str) -> bool:
        """True if an attribute is stored in the object's `__dict__`, so that a dict access can
        replace the attribute access until the change counter moves."""
        value = self.space.get(holder)
        cls = type(value)
        if (
            holder in self.names
            or not change_counter.counts_changes(value)
            or name not in vars(value)
        ):
            return False
        plain = cls.__getattribute__ is object.__getattribute__
        if not plain or hasattr(inspect.getattr_static(cls, name, None), "__set__"):
            return False
        if not self.watch_version_tag(cls):
            return False
        attributes, class_ = self.name_of(vars(value)), self.name_of(cls)
        moved = f"{holder}.__dict__ is not {attributes} or type({holder}) is not {class_}"
        line = f"if {moved}: return MISS"
        if line not in self.rarely:
            self.rarely.insert(0, line)
        return True

    def constant_value(self, node: ast.expr) -> Any:
        """The constant that an expression evaluates to, given the checks emitted so far; or
        None."""
        match node:
            case ast.Name(id=name) if name in self.names:
                operand = self.names[name]
                return (
                    self.items[operand - FIRST_CONSTANT_OPERAND]
                    if operand >= FIRST_CONSTANT_OPERAND
                    else None
                )
            case ast.Name(id=name):
                return self.space.get(name)
            case ast.Attribute(value=holder, attr=name) if self.is_constant_attribute(holder, name):
                return getattr(self.constant_value(holder), name)
        return None

    def is_constant_attribute(self, holder: ast.expr, name: str) -> bool:
        """True if an attribute is constant under the checks of this plan: the class of an object,
        or a function or property of a class."""
        value = self.constant_value(holder)
        if name == "__class__":
            return value is not None and self.watch_class(value)
        if type(value) is property:  # its functions are read-only
            return name in ("fget", "fset", "fdel")
        if type(value) is not type:
            return False
        found = inspect.getattr_static(value, name, None)
        return type(found) in (types.FunctionType, property) and self.watch_version_tag(value)

    def watch_class(self, value: Any) -> bool:
        """Check in every call that an object still has its class; False if that is not possible."""
        cls = type(value)
        plain = cls.__getattribute__ is object.__getattribute__
        own = inspect.getattr_static(cls, "__class__", None) is vars(object)["__class__"]
        if not (plain and own and self.watch_version_tag(cls)):
            return False
        self.watch_object(value, TYPE_OFFSET, cls)
        return True

    def watch_version_tag(self, cls: type) -> bool:
        """Check in every call that a class is unchanged, by its version tag; False if it has
        none."""
        if id(cls) not in self.known:
            tag = version_tag(cls)
            if not tag:
                return False
            self.watch(cls, VERSION_TAG_OFFSET, tag, 32)
            self.known.add(id(cls))
        return True

    # ---- the plan

    def finish(self, given: Sequence[str], results: int, after: Sequence[str]) -> tuple[Any, ...]:
        """Emit the kernel call and the lines after it; the finished plan."""
        if self.rarely:
            self.step("seen", self.item(self.space["changes"]))
        expressions = [ast.parse(text, mode="eval").body for text in given]
        operands = [*map(self.value, expressions)]
        self.emit_watches()
        entrance = HEADER_WORDS + len(self.words)
        self.names["rest"] = self.step("enter", results, len(operands), *operands, writes=results)
        for line in after:
            if line.startswith("return "):
                result = self.value(ast.parse(line.removeprefix("return "), mode="eval").body)
                self.words += [_OPCODE["return"], result]
            else:
                self.line(line)
        words = [self.arity, max(self.registers, 1), entrance, *self.words]
        if (
            max(len(self.items), self.registers) >= FIRST_CONSTANT_OPERAND
            or len(words) > 2 * FIRST_CONSTANT_OPERAND
        ):
            raise _Untranslatable
        self.items[0] = struct.pack(f"={len(words)}H", *words)
        return tuple(self.items)
