"""Comparisons: chains, equality of containers, identity and membership."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...frontend.kernel_interface import ObjectGuard
from ...ir.nodes import Var
from ...ir.record import record
from ...syntax import core
from ..control.joins import Joins
from ..dispatch import evaluates
from ..heap.arrays import Arrays
from ..outside.objects import Objects
from ..places import Places
from ..session import Part
from ..surface.surface_calls import SurfaceCalls
from ..values import (
    Bound,
    Cell,
    Closure,
    DictVal,
    InstanceVal,
    IterVal,
    Kwargs,
    ListVal,
    Num,
    Obj,
    Partial,
    RangeVal,
    Ref,
    TupleVal,
    Value,
    ViewVal,
    array,
    constant,
    kind_text,
    number,
)
from ..variables import Variables
from .operators import Operators
from .truth import Truth

COMPARE: dict[str, str] = {
    "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
    "==": "equal", "!=": "not_equal",
}  # fmt: skip


_PYTHON: dict[str, Any] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


_PLAIN = (str, bytes, type(None), type(Ellipsis))  # equal only to their own kind


# Values that are equal to nothing of another kind.
_OWN_KIND = (
    TupleVal,
    ListVal,
    DictVal,
    RangeVal,
    IterVal,
    ViewVal,
    Closure,
    Bound,
    Partial,
    InstanceVal,
)


COMPARISONS: dict[str, tuple[str, str]] = {
    "==": ("__eq__", "__eq__"), "!=": ("__ne__", "__ne__"),
    "<": ("__lt__", "__gt__"), ">": ("__gt__", "__lt__"),
    "<=": ("__le__", "__ge__"), ">=": ("__ge__", "__le__"),
}  # fmt: skip


@record(eq=False)
class Comparisons(Part):
    """Comparisons, identity and membership."""

    places: Places
    variables: Variables
    arrays: Arrays
    objects: Objects
    surface_calls: SurfaceCalls
    operators: Operators
    truth: Truth
    joins: Joins

    @evaluates(core.Compare)
    def eval_Compare(self, node: core.Compare) -> Value:
        ((op, operand),) = zip(node.ops, node.rights)
        left, right = self.evaluator.eval(node.left), self.evaluator.eval(operand)
        if _is_set(operand):
            assert isinstance(right, TupleVal)
            for value in (left, *right.values):
                self._must_hash(value, node)
        return self.compare(op, left, right, node)

    def _must_hash(self, value: Value, node: core.Node) -> None:
        """Refuses what equality alone does not find in a set: the hash of a float32 is that of
        another number than the one it equals."""
        plain = isinstance(value, Obj) and isinstance(value.value, (str, bytes, type(None)))
        if isinstance(value, Num):
            plain = value.operand.type.dtype not in ("float32", "complex64")
        if not plain:
            kind = kind_text(value)
            self.places.refuse(
                node, f"`in` a set is not supported for {kind} of this type", "use a tuple"
            )

    def compare(self, op: str, left: Value, right: Value, node: core.Node) -> Value:
        if op in ("is", "is not"):
            same = self._same_object(left, right, node)
            return same if op == "is" else self.truth.not_(same, node)
        if op in ("in", "not in"):
            found = self.arrays.python_bool(number(self._contains(left, right, node)))
            return found if op == "in" else self.truth.not_(found, node)
        sized = self.operators.sized
        left, right = sized(left, right, node, True), sized(right, left, node, True)
        if isinstance(left, (Num, Ref)) and isinstance(right, (Num, Ref)):
            return self.operators.binary(COMPARE[op], left, right, node)
        if all(isinstance(v, Obj) and isinstance(v.value, int) for v in (left, right)):
            return self.operators.binary(COMPARE[op], left, right, node)
        result = self.special_compare(op, left, right, node)
        if result is not None:
            return result
        if _is_numpy(left) or _is_numpy(right):
            return self._compare_with_numpy(op, left, right, node)
        kind = _sequence_class(left)
        if kind is not None and kind is _sequence_class(right):
            return self._compare_sequences(op, left, right, node)
        if op in ("==", "!="):
            equal = self._equal(left, right, node)
            return equal if op == "==" else self.truth.not_(equal, node)
        if isinstance(left, Obj) and isinstance(right, Obj) and _is_text(left) and _is_text(right):
            with self.places.python_errors(node):
                return constant(_PYTHON[op](left.value, right.value))
        return self.places.refuse(
            node, f"comparing {kind_text(left)} and {kind_text(right)} is not supported"
        )

    def _compare_with_numpy(self, op: str, left: Value, right: Value, node: core.Node) -> Value:
        """An array or a NumPy number compares elementwise, with whatever it is compared."""
        mine, other = (left, right) if _is_numpy(left) else (right, left)
        if _sequence_class(other) is not None or isinstance(other, RangeVal):
            made = self.surface_calls.call_surface("numpy.array", (other,), {}, node)
            pair = (mine, made) if mine is left else (made, mine)
            return self.operators.binary(COMPARE[op], *pair, node)
        plain = isinstance(other, Obj) and isinstance(other.value, _PLAIN)
        if op not in ("==", "!=") or not (plain or isinstance(other, DictVal)):
            kinds = f"{kind_text(left)} and {kind_text(right)}"
            return self.places.refuse(node, f"comparing {kinds} is not supported")
        differs = constant(op == "!=")
        if isinstance(mine, Num) or not self.arrays.ref_type(array(mine)).ndim:
            return differs
        dtype: Kwargs = {"dtype": Obj(np.dtype(bool))}
        return self.surface_calls.call_surface("numpy.full_like", (mine, differs), dtype, node)

    def _compare_sequences(self, op: str, left: Value, right: Value, node: core.Node) -> Value:
        p, q = self.objects.static_items(left), self.objects.static_items(right)
        if p is None or q is None:
            text = "comparing sequences whose lengths are known at run time is not supported"
            return self.places.refuse(node, text, "compare arrays, or elements in a loop")
        if op not in ("==", "!="):
            return self._ordered(op, p, q, node)
        if len(p) != len(q) and not isinstance(left, TupleVal):
            return constant(op == "!=")
        total: Value = constant(True)
        for x, y in zip(p, q):
            total = self.truth.lazy_and(total, lambda x=x, y=y: self._equal_items(x, y, node), node)
        if len(p) != len(q):  # tuples compare the elements that both have, which may fail
            total = constant(False)
        total = self.arrays.python_bool(number(total))
        return total if op == "==" else self.truth.not_(total, node)

    def _ordered(self, op: str, p: list[Value], q: list[Value], node: core.Node) -> Value:
        """`p < q`: the first elements that differ decide, or else the lengths."""
        if not p or not q:
            return self.compare(op, constant(len(p)), constant(len(q)), node)
        equal = self._equal_items(p[0], q[0], node)
        if equal.known is not None:
            if equal.known[0]:
                return self._ordered(op, p[1:], q[1:], node)
            return self.compare(op, p[0], q[0], node)
        return self.joins.choose(
            equal,
            lambda: self._ordered(op, p[1:], q[1:], node),
            lambda: self.compare(op, p[0], q[0], node),
            node,
        )

    def _equal_items(self, x: Value, y: Value, node: core.Node) -> Num:
        """Containers take an element for equal to itself, NaN and arrays too."""
        if _is_identical(x, y):
            return constant(True)
        return self.truth.truth(self.compare("==", x, y, node), node)

    def _equal(self, left: Value, right: Value, node: core.Node) -> Value:
        result = self.equal_fields(left, right, node)
        if result is not None:
            return result
        if isinstance(left, Obj) and isinstance(right, Obj):
            with self.places.python_errors(node):
                return constant(bool(left.value == right.value))
        if isinstance(left, RangeVal) and isinstance(right, RangeVal):
            p, q = self.objects.static_items(left), self.objects.static_items(right)
            if p is None or q is None:
                self.places.refuse(node, "comparing ranges needs bounds known while compiling")
            return constant([number(x).known for x in p] == [number(y).known for y in q])
        if isinstance(left, ViewVal) and isinstance(right, ViewVal):
            return self._equal_views(left, right, node)
        for side, other in ((left, right), (right, left)):
            if isinstance(side, Obj) and isinstance(side.value, _PLAIN):
                return constant(False)
            if isinstance(side, _OWN_KIND) and isinstance(other, (*_OWN_KIND, Num)):
                if type(side) is type(other):
                    return self._same_object(left, right, node)
                return constant(False)
        kinds = f"{kind_text(left)} and {kind_text(right)}"
        return self.places.refuse(node, f"comparing {kinds} is not supported")

    def _equal_views(self, left: ViewVal, right: ViewVal, node: core.Node) -> Value:
        if left.kind == right.kind == "keys":
            p, q = (self.state.heap[v.cell].keys for v in (left, right))
            return constant(set(p) == set(q))
        if left.kind == right.kind == "values":  # they have no equality but identity
            self.places.refuse(
                node, "comparing the values of dicts is not supported", "compare lists"
            )
        return self.places.refuse(
            node, "comparing views of dicts is not supported", "compare the dicts"
        )

    # ---- identity

    def _same_object(self, left: Value, right: Value, node: core.Node) -> Num:
        """`left is right`; refused where the outcome depends on the run or on the interpreter."""
        if isinstance(left, Obj) and isinstance(right, Obj):
            same = left.value is right.value
            if not same and isinstance(left.value, (str, bytes)) and left.value == right.value:
                self.places.refuse(
                    node, "`is` of equal strings depends on the interpreter", "use =="
                )
            return constant(same)
        if isinstance(left, Num) and isinstance(right, Num):
            return self._same_number(left, right, node)
        if type(left) is not type(right):
            return constant(False)
        if _is_identical(left, right):
            return constant(True)
        known = self.variables.variables
        if (
            isinstance(left, Ref)
            and isinstance(right, Ref)
            and {left.cell, right.cell} <= known.keys()
        ):
            # Which Variables these are is guarded; a part of one is an array of its own.
            unsure = bool(left.path and right.path)
            if known[left.cell] is known[right.cell] and not unsure:
                return constant(not left.path and not right.path)
        elif isinstance(left, Ref) and isinstance(right, Ref):
            others = left.cell is not right.cell and self._may_be_one(left, right)
            unsure = others or left == right
        elif hasattr(left, "cell"):
            unsure = self._may_be_one(left, right)
        else:
            unsure = True
        if unsure:
            kind = kind_text(left)
            self.places.refuse(
                node, f"whether this is the same object ({kind}) is not known", "use =="
            )
        return constant(False)

    def _may_be_one(self, left: Any, right: Any) -> bool:
        """Whether distinct cells may be one object: two arguments, or one of two."""
        p, q = left.cell, right.cell
        given = all(c.param is not None or c.path for c in (p, q))
        chosen = p.choice is not None or q.choice is not None
        return given or chosen or frozenset((p, q)) in self.state.pairs

    def _same_number(self, left: Num, right: Num, node: core.Node) -> Num:
        types = left.operand.type, right.operand.type
        if any(t.dtype == "bool" for t in types):
            if types[0].dtype != types[1].dtype or types[0].weak != types[1].weak:
                return constant(False)
            return number(
                self.operators.binary("equal", left, right, node)
            )  # there are but two objects
        if left is right or (left.operand == right.operand and isinstance(left.operand, Var)):
            return constant(True)
        known = [n.known[0] for n in (left, right) if n.known is not None]
        small = [k for k in known if isinstance(k, int) and -5 <= k <= 256]
        if len(small) == 2:  # of which there is one object each
            return constant(small[0] == small[1])
        return self.places.refuse(node, "`is` of numbers depends on the interpreter", "use ==")

    # ---- membership

    def _contains(self, item: Value, container: Value, node: core.Node) -> Value:
        if isinstance(container, ViewVal) and container.kind == "keys":
            container = DictVal(container.cell)
        if isinstance(container, DictVal):
            key = self.operators.dict_key(item, node)
            return constant(key in self.state.heap[container.cell].keys)
        special = self.evaluator.call_special(container, "__contains__", (item,), node)
        if special is not None:
            return self.truth.truth(special, node)
        known = isinstance(item, Obj) or (isinstance(item, Num) and item.known is not None)
        if isinstance(container, Obj) and (_is_text(container) or known):
            return self._static_contains(item, container, node)
        if isinstance(container, Ref):
            equal = self.compare("==", container, item, node)
            return self.surface_calls.call_surface("numpy.any", (equal,), {}, node)
        if isinstance(container, IterVal):
            self.places.refuse(
                node, "`in` consumes a part of this iterator", "make a list of it first"
            )
        items = self.objects.static_items(container)
        if items is None:
            return self.places.refuse(node, "`in` needs a container that is known while compiling")
        total: Value = constant(False)
        for other in items:
            total = self.truth.lazy_or(
                total, lambda x=other: self._equal_items(x, item, node), node
            )
        return total

    def _static_contains(self, item: Value, container: Obj, node: core.Node) -> Value:
        if not isinstance(item, (Obj, Num)):
            self.places.refuse(node, f"`in` a string or bytes does not apply to {kind_text(item)}")
        key = self.arrays.static(item, node, "this value")
        with self.places.python_errors(node):
            found = key in container.value
        if container.path:
            self.shared.object_guards.append(ObjectGuard(container.path, "item", (key, found)))
        return constant(found)

    def special_compare(self, op: str, left: Value, right: Value, node: core.Node) -> Value | None:
        own, reflected = COMPARISONS[op]
        if self.operators.overrides(right, left, reflected):
            result = self.evaluator.call_special(right, reflected, (left,), node)
            if result is not None:
                return result
        result = self.evaluator.call_special(left, own, (right,), node)
        if result is None and not isinstance(left, Ref):
            result = self.evaluator.call_special(right, reflected, (left,), node)
        if result is None and op == "!=":
            equal = self.special_compare("==", left, right, node)
            result = None if equal is None else self.truth.not_(equal, node)
        return result

    def equal_fields(self, left: Value, right: Value, node: core.Node) -> Value | None:
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
        return self.compare("==", TupleVal(p.values), TupleVal(others), node)


def _is_set(node: core.Expr) -> bool:
    return isinstance(node, core.Seq) and node.kind == "set"


def _is_numpy(value: Value) -> bool:
    """Whether NumPy decides what an operator means: an array, or a number of NumPy's."""
    return isinstance(value, Ref) or (isinstance(value, Num) and not value.operand.type.weak)


def _is_text(value: Value) -> bool:
    return isinstance(value, Obj) and isinstance(value.value, (str, bytes))


def _sequence_class(value: Value) -> type | None:
    if isinstance(value, ListVal):
        return list
    if isinstance(value, TupleVal):
        return tuple
    plain = value.value if isinstance(value, Obj) else None
    return type(plain) if type(plain) in (list, tuple) else None


def _is_identical(x: Value, y: Value) -> bool:
    """Whether two values are surely one object."""
    if x is y:
        return not isinstance(x, Num) or isinstance(x.operand, Var)
    if isinstance(x, Num) and isinstance(y, Num):
        return isinstance(x.operand, Var) and x.operand == y.operand
    if isinstance(x, Ref) and isinstance(y, Ref):
        return x.cell is y.cell and not x.path and not y.path
    cells: list[Cell | None] = [getattr(v, "cell", None) for v in (x, y)]
    return type(x) is type(y) and cells[0] is not None and cells[0] is cells[1]
