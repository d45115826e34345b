"""Operators of the user's own classes: `a + b`, `a[i]`, `a == b`, `len(a)`, `if a`, `for v in a`.

What a class defines for an operator is a method like any other: it is read and inlined, so that
what it computes is differentiated, and is never decided by the object's state of the day.
"""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any

from ..ir.builder import BINARY
from ..ir.record import record
from .expressions import Expressions
from .objects import Objects
from .session import Part
from .values import DictVal, InstanceVal, Num, Obj, Ref, TupleVal, Value, constant

STEMS = {op: stem for stem, op in BINARY.items()}
COMPARISONS: dict[str, tuple[str, str]] = {
    "==": ("__eq__", "__eq__"), "!=": ("__ne__", "__ne__"),
    "<": ("__lt__", "__gt__"), ">": ("__gt__", "__lt__"),
    "<=": ("__le__", "__ge__"), ">=": ("__ge__", "__le__"),
}  # fmt: skip


@record(eq=False)
class Operators(Part):
    """Special methods of the user's classes."""

    expressions: Expressions
    objects: Objects

    def special(self, owner: Value, name: str) -> Obj | None:
        """The method of a user's class for an operator."""
        if isinstance(owner, Obj):
            cls = type(owner.value)
        elif isinstance(owner, (InstanceVal, TupleVal)):
            cls = owner.cls
        else:
            return None
        found = inspect.getattr_static(cls, name, None) if cls is not None else None
        if found is None:
            self.objects.guard_no_method(owner, name)
        if not isinstance(found, types.FunctionType) or made_by_library(found):
            return None
        self.objects.guard_class(owner, found, name)
        return Obj(found)

    def call_special(self, owner: Value, name: str, args: Any, node: Any) -> Value | None:
        """What the user's method for an operator gives; None if there is none, or if it leaves
        the matter to the other operand."""
        method = self.special(owner, name)
        if method is None:
            return None
        result = self.evaluator.call_function(method, (owner, *args), {}, node)
        return None if isinstance(result, Obj) and result.value is NotImplemented else result

    def special_binary(
        self, name: str, left: Value, right: Value, node: Any, in_place: bool = False
    ) -> Value | None:
        stem = STEMS.get(name)
        if stem is None:
            return None
        if in_place:
            result = self.call_special(left, f"__i{stem}__", (right,), node)
            if result is not None:
                return result
        reflected = f"__r{stem}__"
        if self._overrides(right, left, reflected):
            result = self.call_special(right, reflected, (left,), node)
            if result is not None:
                return result
        result = self.call_special(left, f"__{stem}__", (right,), node)
        # An array takes an object for an array of objects, unless its class asks to be left alone.
        if result is None and (not isinstance(left, Ref) or self._leaves_arrays(right)):
            result = self.call_special(right, reflected, (left,), node)
        return result

    def _overrides(self, right: Value, left: Value, name: str) -> bool:
        """Whether Python asks the right operand first: its class is derived from the left one's
        and has a method of its own."""
        classes: list[Any] = [
            type(v.value) if isinstance(v, Obj) else getattr(v, "cls", None) for v in (left, right)
        ]
        if None in classes or classes[0] is classes[1] or not issubclass(classes[1], classes[0]):
            return False
        own, other = (inspect.getattr_static(c, name, None) for c in reversed(classes))
        if own is None:
            self.objects.guard_no_method(right, name)
        return own is not None and own is not other

    def _leaves_arrays(self, value: Value) -> bool:
        cls = type(value.value) if isinstance(value, Obj) else getattr(value, "cls", None)
        refuses = getattr(cls, "__array_ufunc__", self) is None
        return refuses or getattr(cls, "__array_priority__", 0) > 0

    def special_compare(self, op: str, left: Value, right: Value, node: Any) -> Value | None:
        own, reflected = COMPARISONS[op]
        if self._overrides(right, left, reflected):
            result = self.call_special(right, reflected, (left,), node)
            if result is not None:
                return result
        result = self.call_special(left, own, (right,), node)
        if result is None and not isinstance(left, Ref):
            result = self.call_special(right, reflected, (left,), node)
        if result is None and op == "!=":
            equal = self.special_compare("==", left, right, node)
            result = None if equal is None else self.expressions.not_(equal, node)
        return result

    def special_truth(self, value: Value, node: Any) -> Num | None:
        result = self.call_special(value, "__bool__", (), node)
        if result is None:
            result = self.call_special(value, "__len__", (), node)
        return None if result is None else self.expressions.truth(result, node)

    def iterated(self, value: Value, node: Any) -> Value:
        """What is iterated over in place of an object whose class says so."""
        result = self.call_special(value, "__iter__", (), node)
        return value if result is None else result

    def equal_fields(self, left: Value, right: Value, node: Any) -> Value | None:
        """`==` of dicts, and of dataclasses that define none of their own."""
        if isinstance(left, DictVal) and isinstance(right, DictVal):
            p, q = self.state.heap[left.cell], self.state.heap[right.cell]
            if len(p.keys) != len(q.keys) or any(k not in q.keys for k in p.keys):
                return constant(False)
            others = tuple(q.values[q.keys.index(k)] for k in p.keys)
        elif isinstance(left, InstanceVal) and isinstance(right, InstanceVal):
            options = getattr(left.cls, "__dataclass_params__", None)
            if left.cls is not right.cls or options is None or not options.eq:
                return constant(left.cell is right.cell)
            p, others = self.state.heap[left.cell], self.state.heap[right.cell].values
        else:
            return None
        return self.evaluator.comparisons.compare("==", TupleVal(p.values), TupleVal(others), node)


def made_by_library(function: types.FunctionType) -> bool:
    """Methods of enumerations and the like, and those that dataclasses write themselves."""
    module = (function.__module__ or "").partition(".")[0]
    written = function.__code__.co_filename == "<string>"
    return written or module in sys.stdlib_module_names or module in ("numpy", "scipy", "numba")
