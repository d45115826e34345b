"""Expressions: evaluation of syntax to values, which emits operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...ir.nodes import Const, Scalar
from ...ir.record import record
from ...syntax import core
from ..calls.calls import Calls
from ..control.joins import Joins
from ..dispatch import evaluates, table
from ..frames import Frames
from ..heap.arrays import Arrays
from ..operations.attributes import Attributes
from ..operations.comparisons import Comparisons
from ..operations.comprehensions import Comprehensions
from ..operations.formatting import Formatting
from ..operations.iterators import Iterators
from ..operations.operators import Operators, is_python
from ..operations.truth import Truth
from ..outside.objects import Objects
from ..places import Places
from ..session import Part, fixed
from ..surface.surface_calls import SurfaceCalls
from ..values import (
    DictVal,
    Disagreement,
    Num,
    Obj,
    Ref,
    SliceVal,
    TupleVal,
    Value,
    constant,
    is_huge,
    kind_text,
    number,
)

BINARY: dict[str, str] = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide",
    "//": "floor_divide", "%": "remainder", "**": "power", "@": "matmul",
    "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor",
    "<<": "left_shift", ">>": "right_shift",
}  # fmt: skip


_PYTHON_UNARY: dict[str, Any] = {"-": lambda x: -x, "+": lambda x: +x, "~": lambda x: ~x}


@record(eq=False)
class Expressions(Part):
    """Expressions, operators and truth."""

    attributes: Attributes
    comparisons: Comparisons
    calls: Calls
    places: Places
    arrays: Arrays
    joins: Joins
    objects: Objects
    surface_calls: SurfaceCalls
    operators: Operators
    truth: Truth
    comprehensions: Comprehensions
    iterators: Iterators
    formatting: Formatting
    frames: Frames
    evaluators: dict[type, Callable[[Any], Value]] = fixed()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.evaluators = table("evaluates", self, self.attributes, self.comparisons, self.calls)

    def eval(self, node: core.Expr) -> Value:
        method = self.evaluators.get(type(node))
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

    @evaluates(core.Const)
    def eval_Const(self, node: core.Const) -> Value:
        return constant(node.value)

    @evaluates(core.Name, core.Result)
    def eval_Name(self, node: core.Name) -> Value:
        value = self.frames.lookup(node.id, node)
        return value

    @evaluates(core.Refused)
    def eval_Refused(self, node: core.Refused) -> Value:
        return self.places.refuse(node, node.message, node.advice)

    @evaluates(core.Seq)
    def eval_Seq(self, node: core.Seq) -> Value:
        items = tuple(self.elements(node.items))
        return self.arrays.new_list(items) if node.kind == "list" else TupleVal(items)

    def elements(self, nodes: tuple[core.Expr, ...]) -> list[Value]:
        out: list[Value] = []
        for node in nodes:
            if isinstance(node, core.Star):
                items = self.objects.static_items(self.iterators.whole(self.eval(node.value), node))
                if items is None:
                    self.places.refuse(
                        node, "the length of this is known only at run time", "index its elements"
                    )
                out += items
            else:
                out.append(self.eval(node))
        return out

    @evaluates(core.Dict)
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
                pairs = [(self.operators.dict_key(self.eval(key), key), self.eval(value))]
            found.update(pairs)
        return self.arrays.new_dict(tuple(found), tuple(found.values()))

    @evaluates(core.Lambda)
    def eval_Lambda(self, node: core.Lambda) -> Value:
        return self.frames.closure(node.func)

    @evaluates(core.Format)
    def eval_Format(self, node: core.Format) -> Value:
        return constant(self.formatting.text_of(node))

    @evaluates(core.Bind)
    def eval_Bind(self, node: core.Bind) -> Value:
        value = self.eval(node.value)
        self.evaluator.bind(node.target, value, node)
        return self.state.env[node.target.id]

    @evaluates(core.Let)
    def eval_Let(self, node: core.Let) -> Value:
        self.state.env[node.target.id] = self.eval(node.value)
        value = self.eval(node.body)
        self.state.env.pop(node.target.id, None)
        return value

    @evaluates(core.Slice)
    def eval_Slice(self, node: core.Slice) -> Value:
        parts = [None if p is None else self.eval(p) for p in (node.start, node.stop, node.step)]
        return SliceVal(*(None if isinstance(p, Obj) and p.value is None else p for p in parts))

    @evaluates(core.Star)
    def eval_Star(self, node: core.Star) -> Value:
        return self.places.refuse(node, "`*` is not supported here")

    # ---- operators

    @evaluates(core.Binary)
    def eval_Binary(self, node: core.Binary) -> Value:
        left, right = self.eval(node.left), self.eval(node.right)
        return self.operators.binary(BINARY[node.op], left, right, node)

    @evaluates(core.Unary)
    def eval_Unary(self, node: core.Unary) -> Value:
        value = self.eval(node.operand)
        if node.op == "not":
            return self.truth.not_(value, node)
        if isinstance(value, Obj) and is_huge(value.value):
            return constant(_PYTHON_UNARY[node.op](value.value))
        if not isinstance(value, (Num, Ref)):
            special = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}
            result = self.evaluator.call_special(value, special[node.op], (), node)
            if result is not None:
                return result
            return self.places.refuse(node, f"this operator does not apply to {kind_text(value)}")
        known = value.known if isinstance(value, Num) and isinstance(value.operand, Const) else None
        if known is not None and isinstance(value, Num) and is_python(value.type):
            x = known[0]
            with self.places.python_errors(node):
                if node.op == "~":
                    return constant(~int(x) if isinstance(x, bool) else ~x)
                return constant(-x if node.op == "-" else +x)
        if node.op == "+":
            if isinstance(value, Num) and value.operand.type.dtype != "bool":
                return value
            return self.surface_calls.operate("positive", value, node=node)
        name = "negative" if node.op == "-" else "invert"
        type_ = value.operand.type if isinstance(value, Num) else None
        if name == "invert" and type_ == Scalar("bool", weak=True):  # an integer, to Python
            cast = self.b.emit("cast", self.arrays.sym(value), dtype="int64", weak=True)
            value = number(self.arrays.wrap(cast))
        return self.surface_calls.operate(name, value, node=node)

    # ---- truth

    @evaluates(core.Bool)
    def eval_Bool(self, node: core.Bool) -> Value:
        combine = self.truth.lazy_and if node.op == "and" else self.truth.lazy_or
        value = self.eval(node.values[0])
        for other in node.values[1:]:
            value = combine(value, lambda other=other: self.eval(other), node)
        return value

    @evaluates(core.Choose)
    def eval_Choose(self, node: core.Choose) -> Value:
        cond = self.truth.truth(self.eval(node.test), node.test)
        if cond.known is not None:
            return self.eval(node.body if cond.known[0] else node.orelse)
        return self.joins.choose(
            cond, lambda: self.eval(node.body), lambda: self.eval(node.orelse), node
        )

    # ---- comprehensions

    @evaluates(core.Comp)
    def eval_Comp(self, node: core.Comp) -> Value:
        if node.kind == "generator":
            return self.iterators.generator(node)
        return (
            self.comprehensions.comprehension(node)
            if node.kind == "list"
            else self.comprehensions.dict_of(node)
        )
