"""Text: formatted strings, messages of errors, and `print`."""

from __future__ import annotations

from typing import Any

from ...ir.nodes import Print
from ...ir.record import record
from ...rules.promotion import is_weak
from ...syntax import core
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part
from ..values import Num, Obj, PyObject, Ref, TupleVal, Value, kind_text


@record(eq=False)
class Formatting(Part):
    """Formatted text."""

    places: Places
    arrays: Arrays

    def text_of(self, node: core.Format) -> str:
        """The text of an f-string, whose fields are known while compiling."""
        return "".join(p if isinstance(p, str) else self.field_text(p) for p in node.parts)

    def field_text(self, node: core.Field, value: Value | None = None) -> str:
        """The text of a field of an f-string, whose `value` may be given."""
        value = self.evaluator.eval(node.value) if value is None else value
        plain = self.arrays.static(value, node, "a formatted value")
        convert = {"s": str, "r": repr, "a": ascii}.get(node.conversion or "")
        spec = self.text_of(node.spec) if node.spec else ""
        with self.places.python_errors(node):
            return format(convert(plain) if convert else plain, spec)

    def call_print(self, node: core.Call) -> Value:
        if self.shared.replayed:
            return Obj(None)
        parts = tuple(part for a in node.args for part in self.print_parts(a))
        options = {}
        for keyword in node.keywords:
            if keyword.name not in ("sep", "end"):
                self.places.refuse(keyword.value, f"print({keyword.name}=…) is not supported")
            options[keyword.name] = self.arrays.static(
                self.evaluator.eval(keyword.value), keyword.value, "this text"
            )
        self.b.block.append(
            Print(parts, options.get("sep", " "), options.get("end", "\n"), self.b.origin)
        )
        return Obj(None)

    def print_parts(self, node: core.Expr) -> list[PyObject]:
        """What is printed for an argument: several for one with a star."""
        if isinstance(node, core.Format):
            return [tuple(self.message_parts(node))]
        return [self.print_part(value, node) for value in self.evaluator.elements((node,))]

    def print_part(self, value: Value, node: core.Expr) -> PyObject:
        if isinstance(value, (Num, Ref)):
            return self.arrays.sym(value).operand
        if isinstance(value, Obj):
            return str(value.value)
        return self.places.refuse(
            node, f"printing {kind_text(value)} is not supported", "print its parts"
        )

    def message_parts(self, node: core.Format) -> list[PyObject]:
        """The texts and numbers of an f-string."""
        parts: list[Any] = []
        for part in node.parts:
            if isinstance(part, str):
                parts.append(part)
                continue
            value = self.evaluator.eval(part.value)
            spec = self.text_of(part.spec) if part.spec else ""
            if isinstance(value, Num) and value.known is None:
                self._refuse_conversion(part, value, spec)
                parts.append((value.operand, spec) if spec else value.operand)
            elif isinstance(value, Ref):
                self._refuse_conversion(part, value, spec)
                parts.append(self.arrays.sym(value).operand)
            elif isinstance(value, TupleVal) and any(
                isinstance(v, Num) and v.known is None for v in value.values
            ):
                parts.append("(")
                for i, v in enumerate(value.values):
                    parts += [", "] if i else []
                    parts.append(self._shown_in_tuple(v, part))
                parts.append(",)" if len(value.values) == 1 else ")")
            else:
                parts.append(self.field_text(part, value))
        return parts

    def _refuse_conversion(self, part: core.Field, value: Num | Ref, spec: str) -> None:
        """Refuses conversions that change the text: `!s` and `!r` of a Python number do not; `!r`
        of arrays and NumPy scalars does, and a format after a conversion is one of text."""
        plain = isinstance(value, Num) and is_weak(value.operand.type)
        if part.conversion and (spec or not (plain or part.conversion == "s")):
            sign = f"!{part.conversion}"
            self.places.refuse(
                part, f"{sign} of {kind_text(value)} is not supported here", "leave it out"
            )

    def _shown_in_tuple(self, value: Value, part: core.Field) -> Any:
        if isinstance(value, Num) and value.known is None:
            if not is_weak(value.operand.type):
                self.places.refuse(
                    part, "a tuple of NumPy's numbers cannot be formatted here", "name them"
                )
            return value.operand
        return repr(self.arrays.static(value, part, "a formatted value"))
