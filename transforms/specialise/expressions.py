"""Expressions: syntax to values, emitting operations on the way."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any, NoReturn

import numpy as np

from ..ir.errors import S2SValueError
from ..ir.nodes import Assign, Block, Const, Scalar
from ..ir.op_registry import RULES, SURFACES
from ..ir.path_kinds import KIND_NAMES, dtype_kind
from ..ir.record import record, replace
from ..rules.declare import as_python_scalar
from ..rules.integer_range_checks import require_in_range
from ..rules.promotion import kind_of, mixed_dtypes
from ..syntax import core
from .arrays import Arrays
from .joins import Joins
from .places import NeedUnroll, Places
from .session import Part
from .values import (
    Cell,
    DictVal,
    Disagreement,
    Ended,
    EnumerateVal,
    Growing,
    Items,
    KeysVal,
    ListVal,
    Num,
    Obj,
    ProductVal,
    RangeVal,
    Ref,
    RestVal,
    SliceVal,
    TupleVal,
    Value,
    ViewVal,
    ZipVal,
    constant,
    is_huge,
    kind_text,
)

BINARY: dict[str, str] = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide",
    "//": "floor_divide", "%": "remainder", "**": "power", "@": "matmul",
    "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor",
    "<<": "left_shift", ">>": "right_shift",
}  # fmt: skip
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


PYTHON_UNARY: dict[str, Any] = {"-": lambda x: -x, "+": lambda x: +x, "~": lambda x: ~x}


def _is_python(type_: Any) -> bool:
    return type_.weak


def _is_huge(name: str, x: Any, y: Any) -> bool:
    """Whether a power or shift of integers has so many digits that computing it takes long."""
    bits = {"power": int(x).bit_length() - 1, "left_shift": 1 if x else 0}.get(name, 0)
    return y > 0 and bits * int(y) > 2**16


@record(eq=False)
class Expressions(Part):
    """Expressions, operators and truth."""

    places: Places
    arrays: Arrays
    joins: Joins

    def eval(self, node: core.Expr) -> Value:
        method = self.evaluator.eval_methods.get(type(node))
        if method is None:
            self.places.refuse(node, f"{type(node).__name__} is not supported here")
        with self.b.at(self.places.origin(node)):
            try:
                return method(node)
            except Disagreement as found:
                self.refuse_content(found, node)

    def refuse_content(self, found: Disagreement, node: core.Node) -> NoReturn:
        advice = "give it the same keys or elements on every path, before the branch or loop"
        self.places.need_unroll(node, str(found), advice, peel=True)

    # ---- atoms

    def eval_Const(self, node: core.Const) -> Value:
        return constant(node.value)

    def eval_Name(self, node: core.Name) -> Value:
        value = self.evaluator.objects.lookup(node.id, node)
        return value

    def eval_Refused(self, node: core.Refused) -> Value:
        return self.places.refuse(node, node.message, node.advice)

    def eval_Seq(self, node: core.Seq) -> Value:
        items = tuple(self.elements(node.items))
        return self.arrays.new_list(items) if node.kind == "list" else TupleVal(items)

    def elements(self, nodes: tuple[core.Expr, ...]) -> list[Value]:
        out: list[Value] = []
        for node in nodes:
            if isinstance(node, core.Star):
                items = self.static_items(
                    self.evaluator.iterators.whole(self.eval(node.value), node)
                )
                if items is None:
                    self.places.refuse(
                        node, "the length of this is known only at run time", "index its elements"
                    )
                out += items
            else:
                out.append(self.eval(node))
        return out

    def eval_Dict(self, node: core.Dict) -> Value:
        found: dict[Any, Value] = {}
        for key, value in zip(node.keys, node.values):
            if key is None:
                other = self.eval(value)
                if not isinstance(other, DictVal):
                    self.places.refuse(value, "`**` needs a dict here")
                content = self.state.heap[other.cell]
                pairs = list(zip(content.keys, content.values))
            else:
                pairs = [(self.dict_key(self.eval(key), key), self.eval(value))]
            found.update(pairs)
        return self.arrays.new_dict(tuple(found), tuple(found.values()))

    def eval_Lambda(self, node: core.Lambda) -> Value:
        return self.evaluator.statements.closure(node.func)

    def eval_Format(self, node: core.Format) -> Value:
        return constant(self._text(node))

    def _text(self, node: core.Format) -> str:
        """The text of an f-string, whose fields are known while compiling."""
        return "".join(p if isinstance(p, str) else self.field_text(p) for p in node.parts)

    def field_text(self, node: core.Field, value: Value | None = None) -> str:
        """The text of a field of an f-string, whose `value` may be at hand."""
        value = self.eval(node.value) if value is None else value
        plain = self.static(value, node, "a formatted value")
        convert = {"s": str, "r": repr, "a": ascii}.get(node.conversion or "")
        spec = self._text(node.spec) if node.spec else ""
        with self.places.python_errors(node):
            return format(convert(plain) if convert else plain, spec)

    def eval_Bind(self, node: core.Bind) -> Value:
        value = self.eval(node.value)
        self.evaluator.bind(node.target, value, node)
        return self.state.env[node.target.id]

    def eval_Slice(self, node: core.Slice) -> Value:
        parts = [None if p is None else self.eval(p) for p in (node.start, node.stop, node.step)]
        return SliceVal(*(None if isinstance(p, Obj) and p.value is None else p for p in parts))

    def eval_Star(self, node: core.Star) -> Value:
        return self.places.refuse(node, "`*` is not supported here")

    # ---- operators

    def eval_Binary(self, node: core.Binary) -> Value:
        left, right = self.eval(node.left), self.eval(node.right)
        return self.binary(BINARY[node.op], left, right, node)

    def binary(self, name: str, left: Value, right: Value, node: core.Node) -> Value:
        left, right = self.sized(left, right, node), self.sized(right, left, node)
        if isinstance(left, Obj) and isinstance(right, Obj) and _are_integers(left, right):
            return self._fold_integers(name, left.value, right.value, node)
        if isinstance(left, Num) and isinstance(right, Num):
            folded = self._fold_binary(name, left, right, node)
            if folded is not None:
                return folded
        if isinstance(left, (Num, Ref)) and isinstance(right, (Num, Ref)):
            if name == "power" and isinstance(left, Ref) and getattr(right, "known", 0) == (2,):
                if self.joins.ref_type(left).dtype == "bool":  # NumPy squares, which gives int8
                    return self.operate("square", left, node=node)
            return self.operate(name, left, right, node=node)
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
        literal = all(isinstance(o, Const) and _is_python(o.type) for o in operands)
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
        if isinstance(value, Num) and _is_huge_integer(other):
            known = value.known[0] if value.known is not None and _is_python(value.type) else None
            return Obj(int(known)) if isinstance(known, int) else value
        if not isinstance(value, Obj) or not is_huge(value.value):
            return value
        if not isinstance(other, (Num, Ref)):
            return value
        if isinstance(other, Num) and other.known is not None and type(other.known[0]) is int:
            return value
        dtype = self.joins.ref_type(other).dtype if isinstance(other, Ref) else other.type.dtype
        inexact = dtype == "uint64" and not 0 <= value.value < 2**64
        inexact |= dtype != "uint64" and not isinstance(other, Ref) and _is_python(other.type)
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

    def operate(self, name: str, *operands: Num | Ref, node: core.Node) -> Value:
        """One elementwise operation or product on numbers and arrays."""
        path = f"numpy.{name}"
        if name == "matmul" and path in SURFACES:
            for operand in operands:
                self.joins.require_one_kind(operand, node, "a product", of_bools=True)
            return self.arrays.tensor_of(
                self.evaluator.calls.call_surface(path, operands, {}, node), *operands
            )
        with self.evaluator.calls.guarding(node):
            syms = [self.arrays.sym(o) for o in operands]
            if any(isinstance(s.type, Scalar) and s.type.mixed for s in syms):
                result = self._operate_mixed(name, syms, node)
            else:
                result = self.arrays.wrap(self._emitted(name, syms, node))
        return self.arrays.tensor_of(result, *operands)

    def _emitted(self, name: str, syms: list[Any], node: core.Node) -> Any:
        """An operation; refused where NumPy does something else on one of the paths by which an
        operand is a bool or an integer."""
        kinds = [self.b.least_kind(s.operand) for s in syms]
        own = [dtype_kind(s.type) for s in syms]
        try:
            result = self.b.emit(name, *syms)
        except TypeError:
            if kinds == own:
                raise
            result = None
        if kinds != own and (
            result is None
            or name in ("add", "invert")
            and self.b.least_kind(result.operand) == "b"
            and dtype_kind(result.type) != "b"
        ):
            lower, upper = next((k, o) for k, o in zip(kinds, own) if k != o)
            self.places.refuse(
                node,
                f"{name} of a value that is {KIND_NAMES[lower]} on one path and "
                f"{KIND_NAMES[upper]} on another",
                "convert it to one dtype on all paths",
            )
        return result

    def _operate_mixed(self, name: str, syms: list[Any], node: core.Node) -> Value:
        """An operation on an integer that is a Python int on some paths and a small NumPy integer
        on others: both mean the same, or what they disagree on raises at run time."""
        strong, weak = mixed_dtypes(name, [s.type for s in syms])
        if strong == weak or not {kind_of(strong), kind_of(weak)} <= {"i", "u"}:
            return self.arrays.wrap(self.b.emit(name, *syms))
        if weak != "int64":
            message = f"this is {strong} on one path and {weak} on another"
            self.places.refuse(node, message, "convert the integer to one dtype on all paths")
        wide = self.b.emit(name, *(as_python_scalar(s) for s in syms))
        require_in_range(self.b, wide, strong)
        result = wide.astype(strong).operand
        return Num(replace(result, type=replace(result.type, mixed=True)))

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
            p, q = self.static_items(left), self.static_items(right)
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
                    items = self.static_items(seq)
                    if isinstance(seq, ListVal) and count.known is None:
                        if items and len(items) == 1 and isinstance(items[0], Num):
                            return self._repeated(items[0], count)
                    n = self.static(count, node, "a repetition count")
                    if not isinstance(n, (int, np.integer)):
                        kind = type(n).__name__
                        text = f"can't multiply sequence by non-int of type '{kind}'"
                        raise self.places.located(TypeError(text), node)
                    if items is not None:
                        self.evaluator.methods.must_not_be_long(len(items) * n, node)
                        values = tuple(items * int(n))
                        return (
                            TupleVal(values)
                            if isinstance(seq, TupleVal)
                            else self.arrays.new_list(values)
                        )
        text = [isinstance(v, Obj) and isinstance(v.value, (str, bytes)) for v in (left, right)]
        if any(text) and all(isinstance(v, (Num, Obj)) for v in (left, right)):
            x, y = (self.static(v, node, "an operand of a string") for v in (left, right))
            if name in PYTHON:
                if name == "multiply" and isinstance(x, int) != isinstance(y, int):
                    self.evaluator.methods.must_not_be_long(
                        len(y) * x if isinstance(x, int) else len(x) * y, node
                    )
                with self.places.python_errors(node):
                    return constant(PYTHON[name](x, y))
        for side, other in ((left, right), (right, left)):
            if isinstance(side, (ListVal, TupleVal)) and isinstance(other, Ref):
                array = self.evaluator.calls.call_surface("numpy.array", (side,), {}, node)
                pair = (array, other) if side is left else (other, array)
                return self.binary(name, *pair, node)
        result = self.evaluator.operators.special_binary(name, left, right, node)
        if result is not None:
            return result
        sequence = isinstance(left, (ListVal, TupleVal)) or isinstance(right, (ListVal, TupleVal))
        return self.places.refuse(
            node,
            f"{name} of {kind_text(left)} and {kind_text(right)} is not supported",
            "an array of its elements is np.array(...)" if sequence else "",
        )

    def eval_Unary(self, node: core.Unary) -> Value:
        value = self.eval(node.operand)
        if node.op == "not":
            return self.not_(value, node)
        if _is_huge_integer(value):
            return constant(PYTHON_UNARY[node.op](value.value))
        if not isinstance(value, (Num, Ref)):
            special = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
            result = self.evaluator.call_special(value, special[node.op], (), node)
            if result is not None:
                return result
            return self.places.refuse(node, f"this operator does not apply to {kind_text(value)}")
        known = value.known if isinstance(value, Num) and isinstance(value.operand, Const) else None
        if known is not None and isinstance(value, Num) and _is_python(value.type):
            x = known[0]
            with self.places.python_errors(node):
                if node.op == "~":
                    return constant(~int(x) if isinstance(x, bool) else ~x)
                return constant(-x if node.op == "-" else +x)
        if node.op == "+":
            if isinstance(value, Num) and value.operand.type.dtype != "bool":
                return value
            return self.operate("positive", value, node=node)
        name = "negative" if node.op == "-" else "invert"
        type_ = value.operand.type if isinstance(value, Num) else None
        if name == "invert" and type_ == Scalar("bool", weak=True):  # an integer, to Python
            value = self.arrays.wrap(
                self.b.emit("cast", self.arrays.sym(value), dtype="int64", weak=True)
            )
        return self.operate(name, value, node=node)

    def not_(self, value: Value, node: core.Node) -> Num:
        cond = self.truth(value, node)
        if cond.known is not None:
            return constant(not cond.known[0])
        return self.python_bool(Num(self.b.emit("logical_not", cond.operand).operand))

    def python_bool(self, value: Num) -> Num:
        """A truth value as Python's own, which counts as an integer in arithmetic."""
        return Num(as_python_scalar(self.arrays.sym(value)).operand, value.known)

    # ---- truth

    def truth(self, value: Value, node: core.Node) -> Num:
        """`bool(value)`, as a bool number."""
        if isinstance(value, Num):
            if value.known is not None:
                return constant(bool(value.known[0]))
            if value.operand.type.dtype == "bool":
                return value
            return Num(self.b.emit("not_equal", value.operand, 0).operand)
        special = self.evaluator.operators.special_truth(value, node)
        if special is not None:
            return special
        if isinstance(value, Obj):
            if value.path and not isinstance(value.value, (str, bytes, type(None))):
                return constant(True)
            return constant(bool(value.value))
        if isinstance(value, TupleVal):
            return constant(bool(value.values))
        if isinstance(value, (ListVal, DictVal)):
            content = self.state.heap[value.cell]
            if isinstance(content, Growing):
                count = self.b.emit("list_len", content.operand)
                return Num(self.b.emit("not_equal", count, 0).operand)
            return constant(bool(content.values))
        if isinstance(value, ViewVal):
            return constant(bool(self.state.heap[value.cell].keys))
        if isinstance(value, RangeVal):
            return self.truth(self.evaluator.loops.range_count(value), node)
        if isinstance(value, Ref):
            type_ = self.joins.ref_type(value)
            if type_.ndim == 0:
                return self.truth(self.evaluator.indexing.index_value(value, (), node), node)
            raise self.places.refusal(
                node,
                "the truth value of an array is ambiguous",
                "use .any() or .all()",
                S2SValueError,
            )
        return constant(True)

    def eval_Bool(self, node: core.Bool) -> Value:
        combine = self.lazy_and if node.op == "and" else self.lazy_or
        value = self.eval(node.values[0])
        for other in node.values[1:]:
            value = combine(value, lambda other=other: self.eval(other), node)
        return value

    def condition(self, node: core.Expr) -> Num:
        """A test, of which only the truth matters: `if stack and stack[-1] > x`."""
        if not isinstance(node, core.Bool):
            return self.truth(self.eval(node), node)
        combine = self.lazy_and if node.op == "and" else self.lazy_or
        value = self.condition(node.values[0])
        for other in node.values[1:]:
            value = combine(value, lambda other=other: self.condition(other), node)
        return value

    def lazy_and(self, left: Value, right: Any, node: core.Node) -> Value:
        cond = self.truth(left, node)
        if cond.known is not None:
            return right() if cond.known[0] else left
        return self._short_circuit(cond, left, right, "logical_and", node)

    def lazy_or(self, left: Value, right: Any, node: core.Node) -> Value:
        cond = self.truth(left, node)
        if cond.known is not None:
            return left if cond.known[0] else right()
        return self._short_circuit(cond, left, right, "logical_or", node)

    def _short_circuit(
        self, cond: Num, left: Value, right: Any, name: str, node: core.Node
    ) -> Value:
        """A right side that cannot fail, costs nothing and has no effect is simply evaluated;
        otherwise it runs only where Python would run it."""
        attempt = self.session.checkpoint()
        before = self.state.copy()
        block: Block = []
        value: Value = None
        with self.b.into(block), self.joins.at_run_time(), suppress(Ended):
            value = right()
        is_bool = isinstance(value, Num) and value.operand.type.dtype == "bool"
        harmless = all(_harmless(s) for s in block) and not self.state.changed_since(before)
        if is_bool and left is cond and harmless:
            self.b.block.extend(block)
            if value.known is not None:
                stays = value.known[0] == (name == "logical_and")
                return cond if stays else constant(value.known[0])
            return Num(self.b.emit(name, cond.operand, value.operand).operand)
        self.session.rollback(attempt)
        if name == "logical_and":
            return self.choose(cond, right, lambda: left, node)
        return self.choose(cond, lambda: left, right, node)

    def eval_Choose(self, node: core.Choose) -> Value:
        cond = self.truth(self.eval(node.test), node.test)
        if cond.known is not None:
            return self.eval(node.body if cond.known[0] else node.orelse)
        return self.choose(cond, lambda: self.eval(node.body), lambda: self.eval(node.orelse), node)

    def choose(self, cond: Num, then: Any, orelse: Any, node: core.Node) -> Value:
        """The value of whichever side runs."""
        slot = "<value>"
        saved = self.state.env.get(slot)

        def side(run: Any) -> Any:
            def body() -> bool:
                self.state.env[slot] = run()
                return False

            return body

        with self.b.at(self.places.origin(node)):
            ended = self.joins.if_(cond, side(then), side(orelse))
        value = self.state.env.pop(slot, None)
        if saved is not None:
            self.state.env[slot] = saved
        if ended:
            raise Ended
        return self.evaluator.loops.usable(value, node)

    # ---- comprehensions

    def eval_Comp(self, node: core.Comp) -> Value:
        if node.kind == "generator":
            return self.evaluator.iterators.generator(node)
        return (
            self.evaluator.loops.comprehension(node) if node.kind == "list" else self._dict_of(node)
        )

    def _dict_of(self, node: core.Comp) -> Value:
        why = "a dict needs keys that are known while compiling"
        try:
            items = self.static_items(self.evaluator.loops.comprehension(node))
        except NeedUnroll:
            items = None
        if items is None:
            self.places.need_unroll(node, why, "use an array")
        # A key that comes twice stands where it came first and holds what came last.
        found = {self.dict_key(i.values[0], node): i.values[1] for i in items}
        return self.arrays.new_dict(tuple(found), tuple(found.values()))

    # ---- helpers

    def static_items(self, value: Value) -> list[Value] | None:
        """The elements of a sequence whose length is known; None for run-time ones."""
        if isinstance(value, TupleVal):
            return list(value.values)
        if isinstance(value, ListVal):
            content = self.state.heap[value.cell]
            return list(content.values) if isinstance(content, Items) else None
        if isinstance(value, DictVal):
            return [constant(k) for k in self.state.heap[value.cell].keys]
        if isinstance(value, ViewVal):
            return view_items(self.state.heap[value.cell], value.kind)
        if isinstance(value, KeysVal):
            return self.static_items(value.inner)
        if isinstance(value, RestVal):
            inner = self.static_items(value.inner)
            return None if inner is None else inner[value.start :]
        if isinstance(value, RangeVal):
            parts = (value.start, value.stop, value.step)
            if any(p.known is None for p in parts):
                return None
            numbers = list(range(*(p.known[0] for p in parts)))  # type: ignore[index]
            return [constant(k) for k in (numbers[::-1] if value.reverse else numbers)]
        if isinstance(value, EnumerateVal):
            inner = self.static_items(value.inner)
            if inner is None or value.start.known is None:
                return None
            first = value.start.known[0]
            return [TupleVal((constant(first + i), v)) for i, v in enumerate(inner)]
        if isinstance(value, ZipVal):
            inners = [self.static_items(i) for i in value.inners]
            if any(i is None for i in inners):
                return None
            return [TupleVal(tuple(vs)) for vs in zip(*inners)]  # type: ignore[arg-type]
        if isinstance(value, ProductVal) and value.array is None:
            inners = [self.static_items(i) for i in value.inners]
            if any(i is None for i in inners):
                return None
            return [TupleVal(vs) for vs in itertools.product(*inners)]  # type: ignore[arg-type]
        if isinstance(value, Obj) and isinstance(value.value, (str, bytes, list, tuple, range)):
            return [
                self.evaluator.objects.lift(v, (*value.path, ("[]", i)))
                if value.path
                else constant(v)
                for i, v in enumerate(value.value)
            ]
        return None

    def dict_key(self, value: Value, node: core.Node) -> Any:
        """A key of a dict, which is known and can be hashed."""
        if isinstance(value, (ListVal, DictVal, Ref)):
            unhashable = (
                f"unhashable type: {self.evaluator.python_calls.class_of(value).__name__!r}"
            )
            raise self.places.located(TypeError(unhashable), node)
        key = self.static(value, node, "a dict key")
        with self.places.python_errors(node):
            hash(key)
        return key

    def static(self, value: Value, node: core.Node, what: str) -> Any:
        """The Python value behind something that must be known while compiling."""
        if isinstance(value, Obj):
            return value.value
        if isinstance(value, Num) and value.known is not None:
            return value.known[0]
        if isinstance(value, TupleVal):
            return tuple(self.static(v, node, what) for v in value.values)
        if isinstance(value, Num):
            self.places.demand_static(value, node, what)
        return self.places.refuse(
            node, f"{what} must be known while compiling", "pass it through static_argnames"
        )


def _is_huge_integer(value: Value) -> bool:
    return isinstance(value, Obj) and is_huge(value.value)


def _are_integers(*values: Obj) -> bool:
    """Whether these are integers of which one does not fit in 64 bits."""
    return all(isinstance(v.value, int) for v in values) and any(map(_is_huge_integer, values))


def is_count(value: Value) -> bool:
    """Whether a sequence can be repeated by it: an integer, or a bool of Python's."""
    type_ = value.operand.type if isinstance(value, Num) else None
    return type_ is not None and ("int" in type_.dtype or (type_.dtype == "bool" and type_.weak))


def view_items(content: Any, kind: str) -> list[Value]:
    """The elements of a view of a dict."""
    keys = [constant(k) for k in content.keys]
    if kind == "items":
        return [TupleVal(pair) for pair in zip(keys, content.values)]
    return keys if kind == "keys" else list(content.values)


def _harmless(stmt: Any) -> bool:
    """Scalar arithmetic that cannot fail; evaluating it in vain does no harm."""
    if not isinstance(stmt, Assign) or not isinstance(stmt.target.type, Scalar):
        return False
    rule = RULES[stmt.op.name]
    if stmt.op.name in ("shape", "undef", "list_len"):
        return True
    if stmt.op.name in ("floor_divide", "remainder", "power", "left_shift", "right_shift"):
        return stmt.target.type.dtype.startswith("float")
    return rule.kind == "elementwise"
