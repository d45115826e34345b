"""Operators of the user's own classes: `a + b`, `a[i]`, `a == b`, `len(a)`, `if a`, `for v in a`.

The method of a class for an operator is read and inlined like any other method, so that it is
differentiated, and its result does not depend on the state of the object while compiling.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from ...ir.builder import BINARY
from ...ir.nodes import Block, Const, If, Scalar
from ...ir.path_kinds import dtype_kind
from ...ir.record import record
from ...syntax import core
from ..heap.arrays import Arrays
from ..outside.object_attributes import ObjectAttributes
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..surface.surface_calls import SurfaceCalls
from ..values import (
    Args,
    Cell,
    DictVal,
    Growing,
    InstanceVal,
    ListVal,
    Num,
    Obj,
    PyObject,
    Ref,
    TupleVal,
    Value,
    class_of,
    constant,
    is_huge,
    kind_text,
)

PYTHON: dict[str, Any] = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y,
    "floor_divide": lambda x, y: x // y, "remainder": lambda x, y: x % y,
    "power": lambda x, y: x**y, "less": lambda x, y: x < y, "less_equal": lambda x, y: x <= y,
    "greater": lambda x, y: x > y, "greater_equal": lambda x, y: x >= y,
    "equal": lambda x, y: x == y, "not_equal": lambda x, y: x != y,
    "bitwise_and": lambda x, y: x & y, "bitwise_or": lambda x, y: x | y,
    "bitwise_xor": lambda x, y: x ^ y, "left_shift": lambda x, y: x << y,
    "right_shift": lambda x, y: x >> y, "divide": lambda x, y: x / y,
}  # fmt: skip


# Elements of a list, tuple or string that is known while compiling.
MOST_ITEMS = 1 << 20


STEMS = {op: stem for stem, op in BINARY.items()}


@record(eq=False)
class Operators(Part):
    """Special methods of the user's classes."""

    places: Places
    arrays: Arrays
    objects: Objects
    object_attributes: ObjectAttributes
    surface_calls: SurfaceCalls

    def call_special(self, owner: Value, name: str, args: Args, node: core.Node) -> Value | None:
        """The result of the user's method for an operator; None if there is none, or if it returns
        NotImplemented."""
        method = self.object_attributes.special(owner, name)
        if method is None:
            return None
        result = self.evaluator.call_function(method, (owner, *args), {}, node)
        return None if isinstance(result, Obj) and result.value is NotImplemented else result

    def special_binary(
        self, name: str, left: Value, right: Value, node: core.Node, in_place: bool = False
    ) -> Value | None:
        stem = STEMS.get(name)
        if stem is None:
            return None
        if in_place:
            result = self.call_special(left, f"__i{stem}__", (right,), node)
            if result is not None:
                return result
        reflected = f"__r{stem}__"
        if self.overrides(right, left, reflected):
            result = self.call_special(right, reflected, (left,), node)
            if result is not None:
                return result
        result = self.call_special(left, f"__{stem}__", (right,), node)
        # An array takes an object for an array of objects, unless its class declines that.
        if result is None and (not isinstance(left, Ref) or self._leaves_arrays(right)):
            result = self.call_special(right, reflected, (left,), node)
        return result

    def overrides(self, right: Value, left: Value, name: str) -> bool:
        """Whether Python calls the right operand's method first: its class is derived from the left
        one's and has a method of its own."""
        classes: list[Any] = [
            type(v.value) if isinstance(v, Obj) else getattr(v, "cls", None) for v in (left, right)
        ]
        if None in classes or classes[0] is classes[1] or not issubclass(classes[1], classes[0]):
            return False
        own, other = (inspect.getattr_static(c, name, None) for c in reversed(classes))
        if own is None:
            assert isinstance(right, (Obj, InstanceVal, TupleVal))
            self.object_attributes.guard_no_method(right, name)
        return own is not None and own is not other

    def _leaves_arrays(self, value: Value) -> bool:
        cls = type(value.value) if isinstance(value, Obj) else getattr(value, "cls", None)
        refuses = getattr(cls, "__array_ufunc__", self) is None
        return refuses or getattr(cls, "__array_priority__", 0) > 0

    def iterated(self, value: Value, node: core.Node) -> Value:
        """What is iterated over in place of an object whose class says so."""
        result = self.call_special(value, "__iter__", (), node)
        return value if result is None else result

    def binary(self, name: str, left: Value, right: Value, node: core.Node) -> Value:
        left, right = self.sized(left, right, node), self.sized(right, left, node)
        if isinstance(left, Obj) and isinstance(right, Obj) and _are_integers(left, right):
            return self._fold_integers(name, left.value, right.value, node)
        if isinstance(left, Num) and isinstance(right, Num):
            folded = self._fold_binary(name, left, right, node)
            if folded is not None:
                return folded
        if isinstance(left, (Num, Ref)) and isinstance(right, (Num, Ref)):
            if name == "power" and isinstance(left, Num) and isinstance(right, Num):
                left = self._base_of_power(left, right)
            if name == "power" and isinstance(left, Ref) and getattr(right, "known", 0) == (2,):
                if self.arrays.ref_type(left).dtype == "bool":  # NumPy squares, which gives int8
                    return self.surface_calls.operate("square", left, node=node)
            return self.surface_calls.operate(name, left, right, node=node)
        return self._structural_binary(name, left, right, node)

    def _fold_binary(self, name: str, left: Num, right: Num, node: core.Node) -> Value | None:
        """Arithmetic on what is known is done now.  Constants vanish; named values keep
        their operation, so that the emitted code still reads as the user's."""
        if left.known is None or right.known is None or name not in PYTHON:
            return None
        x, y = left.known[0], right.known[0]
        ints = isinstance(x, (int, np.integer)) and isinstance(y, (int, np.integer))
        operands = left.operand, right.operand
        if any(o.type.dtype not in ("bool", "int64", "float64") for o in operands):
            return None  # NumPy's own arithmetic, which wraps or rounds
        literal = all(isinstance(o, Const) and is_python(o.type) for o in operands)
        if not ints and not literal:
            return None
        if ints and _is_huge(name, x, y):
            self.places.refuse(node, "this integer does not fit in 64 bits", "use a float")
        with np.errstate(all="ignore"), self.places.python_errors(node):
            try:
                if name == "divide" and y == 0:
                    value: Any = float(np.float64(x) / np.float64(y))
                else:
                    value = PYTHON[name](x, y)
            except (ZeroDivisionError, OverflowError, ValueError):
                return None
        if isinstance(value, complex):
            return None
        if literal or not ints:
            return constant(value)
        if is_huge(value):
            self.places.refuse(node, "this integer does not fit in 64 bits", "use a float")
        result = self.b.emit(name, left.operand, right.operand)
        return Num(result.operand, (value,))

    def sized(self, value: Value, other: Value, node: core.Node, compared: bool = False) -> Value:
        """An integer beyond 64 bits as a number of the dtype that NumPy gives it beside `other`, or
        `other` itself as an object, where both are Python integers.  Comparisons are exact."""
        if isinstance(value, Num) and isinstance(other, Obj) and is_huge(other.value):
            known = value.known[0] if value.known is not None and is_python(value.type) else None
            return Obj(int(known)) if isinstance(known, int) else value
        if not isinstance(value, Obj) or not is_huge(value.value):
            return value
        if not isinstance(other, (Num, Ref)):
            return value
        if isinstance(other, Num) and other.known is not None and type(other.known[0]) is int:
            return value
        dtype = self.arrays.ref_type(other).dtype if isinstance(other, Ref) else other.type.dtype
        inexact = dtype == "uint64" and not 0 <= value.value < 2**64
        inexact |= dtype != "uint64" and not isinstance(other, Ref) and is_python(other.type)
        if compared and inexact:
            self.places.refuse(node, "this integer does not fit in 64 bits", "use a float")
        if dtype == "uint64":
            with self.places.python_errors(node):
                return constant(np.uint64(value.value))
        if dtype_kind(Scalar(dtype)) in ("f", "c"):
            with self.places.python_errors(node):
                return constant(float(value.value))
        return self.places.refuse(node, "this integer does not fit in 64 bits", "use a float")

    def _fold_integers(self, name: str, x: int, y: int, node: core.Node) -> Value:
        """Arithmetic on Python integers of which one does not fit in 64 bits."""
        if name not in PYTHON or _is_huge(name, x, y):
            self.places.refuse(node, "this integer does not fit in 64 bits", "use a float")
        with self.places.python_errors(node):
            return constant(PYTHON[name](x, y))

    def _base_of_power(self, base: Num, exponent: Num) -> Num:
        """The base of a power, as a float where the exponent is negative or 0 for sure: in Python,
        an integer to a negative power is a float.  Other exponents are checked."""
        types = base.operand.type, exponent.operand.type
        if any(t.dtype != "int64" or not t.weak for t in types) or exponent.known is not None:
            return base
        value = types[1].value
        facts, x, n = self.b.facts, self.arrays.sym(base), self.arrays.sym(exponent)
        negative = None if value is None else facts.is_negative(value)
        if negative is False:
            return base
        most = None if value is None else facts.maximum(value)
        if negative or (most is not None and facts.is_nonnegative(most * -1)):
            return Num(self.b.emit("cast", x, dtype="float64", weak=True).operand)
        failure: Block = []
        with self.b.into(failure):
            message = "an integer to a negative power is a float: make the base a float"
            self.b.fail("ValueError", message)
        self.b.block.append(If((n < 0).operand, failure, [], [], self.b.origin))
        return base

    def _repeated(self, item: Num, count: Num) -> Value:
        """`[0.0] * n` for an `n` known at run time only."""
        size = self.b.emit("maximum", count.operand, 0)
        dtype = item.operand.type.dtype
        array = self.b.emit("full", item.operand, size, dtype=dtype)
        cell = Cell()
        self.state.heap[cell] = Growing(self.b.emit("list_unstack", array).operand)
        return ListVal(cell)

    def _structural_binary(self, name: str, left: Value, right: Value, node: core.Node) -> Value:
        if name == "add" and isinstance(left, TupleVal) and isinstance(right, TupleVal):
            return TupleVal(left.values + right.values)
        if name == "add" and isinstance(left, ListVal) and isinstance(right, ListVal):
            p, q = self.objects.static_items(left), self.objects.static_items(right)
            if p is not None and q is not None:
                return self.arrays.new_list(tuple(p + q))
        if name == "bitwise_or" and isinstance(left, DictVal) and isinstance(right, DictVal):
            p, q = self.state.heap[left.cell], self.state.heap[right.cell]
            both = {**dict(zip(p.keys, p.values)), **dict(zip(q.keys, q.values))}
            return self.arrays.new_dict(tuple(both), tuple(both.values()))
        if name == "multiply":
            for seq, count in ((left, right), (right, left)):
                if isinstance(seq, (TupleVal, ListVal)) and is_count(count):
                    assert isinstance(count, Num)
                    items = self.objects.static_items(seq)
                    if isinstance(seq, ListVal) and count.known is None:
                        if items and len(items) == 1 and isinstance(items[0], Num):
                            return self._repeated(items[0], count)
                    n = self.arrays.static(count, node, "a repetition count")
                    if not isinstance(n, (int, np.integer)):
                        kind = type(n).__name__
                        text = f"can't multiply sequence by non-int of type '{kind}'"
                        raise self.places.located(TypeError(text), node)
                    if items is not None:
                        self.must_not_be_long(len(items) * n, node)
                        values = tuple(items * int(n))
                        return (
                            TupleVal(values)
                            if isinstance(seq, TupleVal)
                            else self.arrays.new_list(values)
                        )
        text = [isinstance(v, Obj) and isinstance(v.value, (str, bytes)) for v in (left, right)]
        if any(text) and all(isinstance(v, (Num, Obj)) for v in (left, right)):
            x, y = (self.arrays.static(v, node, "an operand of a string") for v in (left, right))
            if name in PYTHON:
                if name == "multiply" and isinstance(x, int) != isinstance(y, int):
                    self.must_not_be_long(len(y) * x if isinstance(x, int) else len(x) * y, node)
                with self.places.python_errors(node):
                    return constant(PYTHON[name](x, y))
        for side, other in ((left, right), (right, left)):
            if isinstance(side, (ListVal, TupleVal)) and isinstance(other, Ref):
                array = self.surface_calls.call_surface("numpy.array", (side,), {}, node)
                pair = (array, other) if side is left else (other, array)
                return self.binary(name, *pair, node)
        result = self.special_binary(name, left, right, node)
        if result is not None:
            return result
        sequence = isinstance(left, (ListVal, TupleVal)) or isinstance(right, (ListVal, TupleVal))
        return self.places.refuse(
            node,
            f"{name} of {kind_text(left)} and {kind_text(right)} is not supported",
            "an array of its elements is np.array(...)" if sequence else "",
        )

    def dict_key(self, value: Value, node: core.Node) -> PyObject:
        """A key of a dict, which is known and can be hashed."""
        if isinstance(value, (ListVal, DictVal, Ref)):
            unhashable = f"unhashable type: {class_of(value).__name__!r}"
            raise self.places.located(TypeError(unhashable), node)
        key = self.arrays.static(value, node, "a dict key")
        with self.places.python_errors(node):
            hash(key)
        return key

    def must_not_be_long(self, length: int, node: core.Node) -> None:
        """Refuses a sequence of too many elements to follow each of them while compiling."""
        if length > MOST_ITEMS:
            self.places.refuse(
                node, f"a sequence of more than {MOST_ITEMS} elements", "use an array"
            )


def _is_huge(name: str, x: Any, y: Any) -> bool:
    """Whether a power or shift of integers has so many digits that computing it takes long."""
    bits = {"power": int(x).bit_length() - 1, "left_shift": 1 if x else 0}.get(name, 0)
    return y > 0 and bits * int(y) > 2**16


def is_python(type_: Any) -> bool:
    return type_.weak


def is_count(value: Value) -> bool:
    """Whether a sequence can be repeated by it: an integer, or a bool of Python's."""
    type_ = value.operand.type if isinstance(value, Num) else None
    return type_ is not None and ("int" in type_.dtype or (type_.dtype == "bool" and type_.weak))


def _are_integers(*values: Obj) -> bool:
    """Whether these are integers of which one does not fit in 64 bits."""
    return all(isinstance(v.value, int) for v in values) and any(is_huge(v.value) for v in values)
