"""Texts of constants and operations, and the layout of long lines."""

from __future__ import annotations

import cmath
import math
from collections.abc import Sequence
from typing import Any

from ..ir.nodes import Array, Const, ListOf, Op, Type
from ..ir.op_registry import RULES
from ..ir.precedence import ATOM, TERNARY, UNARY, Text, wrap
from ..rules.internal.update import path_text, target_text
from ..rules.numpy.indexing import items_text
from ..rules.operation_text import dtype_text

WIDTH = 88


def const_text(c: Const, partners: Sequence[Type] = ()) -> Text:
    """A constant among operands of types `partners`.  A NumPy scalar is written as a Python
    number where that gives the same dtype."""
    value, type_ = c.value, c.type
    if isinstance(value, bool):
        return repr(value), ATOM
    text = _number(value)
    plain = type_.weak or all(t.dtype == type_.dtype for t in partners)
    if plain and (type_.weak or type_.dtype in ("int64", "float64") or partners):
        return text, UNARY if text.startswith("-") else ATOM
    return f"np.{type_.dtype}({text})", ATOM


def _number(value: Any) -> str:
    if isinstance(value, float):
        if math.isnan(value):
            return "np.nan"
        if math.isinf(value):
            return "np.inf" if value > 0 else "-np.inf"
    if isinstance(value, complex) and not cmath.isfinite(value):
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    return repr(value)


def op_text(op: Op, args: Sequence[Text]) -> Text:
    """An operation on operands whose texts are given."""
    types = [a.type for a in op.args]
    if op.name == "alias":
        return args[0]
    if op.name == "call":
        return f"{op.attrs['function']}({', '.join(wrap(a, TERNARY) for a in args)})", ATOM
    if op.name == "undef" and isinstance(op.attrs["type"], Array):
        # Nobody reads it, but it may be copied on its way.
        type_ = op.attrs["type"]
        shape = "0" if type_.ndim == 1 else repr((0,) * type_.ndim)
        return f"np.empty({shape}, dtype={dtype_text(type_.dtype)})", ATOM
    if op.name == "size":
        return f"{wrap(args[0], ATOM)}.size", ATOM
    if op.name == "pop":
        return f"{wrap(args[0], ATOM)}.pop()", ATOM
    if op.name == "copy" and isinstance(types[0], ListOf):
        if types[0].elem.ndim:
            return f"[v.copy() for v in {wrap(args[0], TERNARY)}]", ATOM
        return f"list({wrap(args[0], TERNARY)})", ATOM
    text = RULES[op.name].text
    assert text is not None, op.name
    return text(args, op.attrs, types)


def store_text(base: Text, value: Text, path: tuple[Any, ...], args: Sequence[Text], add: bool,
               rank: int) -> str:  # fmt: skip
    """`base[...] = value`; positions in `path` count in `args`."""
    right = wrap(value, TERNARY)
    if not add:
        return f"{target_text(base, path, args)} = {right}"
    if not path and rank:
        return f"{base[0]} += {right}"
    kinds = [item[0] for item in path[-1][1]] if path and path[-1][0] == "index" else []
    if "array" not in kinds:
        return f"{target_text(base, path, args)} += {right}"
    # `x[i] += v` would count a repeated index once.
    items = path[-1][1]
    key = items_text(items, args)[1:-1]
    if {"slice", "all", "new"}.intersection(item[0] for item in items) and ":" in key:
        key = f"np.s_[{key}]"
    elif "," in key and len(items) > 1:
        key = f"({key})"
    return f"np.add.at({path_text(base, path[:-1], args)}, {key}, {right})"


# ---------------------------------------------------------------- long lines

_OPEN, _CLOSE = "([{", ")]}"
# Operators at which a long expression is broken, loosest first.
_BREAKS = ((" or ",), (" and ",), (" + ", " - "), (" * ", " / ", " @ ", " // ", " % "))


def lay_out(line: str, indent: int) -> list[str]:
    """A statement as lines of at most WIDTH columns, broken in brackets."""
    pad = " " * indent
    if indent + len(line) <= WIDTH or line.lstrip().startswith("#"):
        return [pad + line]
    head, body, tail = _right_bracket(line)
    if body and indent + len(head) <= WIDTH:
        inner = _pieces(body, indent + 4)
        return [pad + head, *inner, pad + tail]
    for word in ("if ", "elif ", "while "):
        if line.startswith(word) and line.endswith(":"):
            inner = _pieces(line[len(word) : -1], indent + 4)
            return [f"{pad}{word}(", *inner, f"{pad}):"]
    for mark in (" = ", " += ", "return "):
        left, found, right = line.partition(mark)
        if found and not _is_bracketed(right):
            inner = _pieces(right, indent + 4)
            return [f"{pad}{left}{mark}(", *inner, pad + ")"]
    return [pad + line]


def _right_bracket(line: str) -> tuple[str, str, str]:
    """The line around its last outermost bracket, if what follows it is short and the text
    before is no operand of a longer expression."""
    depth, start = 0, -1
    end = len(line)
    code = _without_strings(line)
    for i in range(len(line) - 1, -1, -1):
        c = code[i]
        if c in _CLOSE:
            if depth == 0:
                end = i
            depth += 1
        elif c in _OPEN:
            depth -= 1
            if depth == 0:
                start = i
                break
    if start < 0 or len(line) - end > 12:
        return line, "", ""
    head = line[: start + 1]
    _, _, expression = head.partition(" = ")
    if any(op in _outer(expression or head) for ops in _BREAKS for op in ops):
        return line, "", ""
    return head, line[start + 1 : end], line[end:]


def _is_bracketed(text: str) -> bool:
    """Whether one pair of brackets holds all of a text."""
    return text.startswith("(") and set(_outer(text)[1:-1]) <= {"."} and text.endswith(")")


def _outer(text: str) -> str:
    """The text with everything in brackets blanked out."""
    out, depth = [], 0
    for c in _without_strings(text):
        depth -= c in _CLOSE
        out.append("." if depth > 0 else c)
        depth += c in _OPEN
    return "".join(out)


def _without_strings(text: str) -> str:
    """The text with the contents of its strings blanked out."""
    out: list[str] = []
    quote, escaped = "", False
    for c in text:
        inside = bool(quote)
        if escaped:
            escaped = False
        elif inside and c == "\\":
            escaped = True
        elif inside and c == quote:
            quote, inside = "", False
        elif not inside and c in "'\"":
            quote = c
        out.append("_" if inside else c)
    return "".join(out)


def _pieces(body: str, indent: int) -> list[str]:
    pad = " " * indent
    if indent + len(body) <= WIDTH:
        return [pad + body]
    parts = _split(body, (", ",))
    if len(parts) > 1:
        return [line for part in parts for line in _item(part.rstrip(" ,") + ",", indent)]
    for operators in _BREAKS:
        parts = _split(body, operators)
        if len(parts) > 1:
            return [line for part in parts for line in lay_out(part, indent)]
    return lay_out(body, indent)


def _item(text: str, indent: int) -> list[str]:
    """One of several things between commas."""
    lines = lay_out(text, indent)
    if all(len(line) <= WIDTH for line in lines):
        return lines
    pad = " " * indent
    return [f"{pad}(", *_pieces(text.rstrip(","), indent + 4), f"{pad}),"]


def _split(text: str, marks: Sequence[str]) -> list[str]:
    """Splits before each mark outside brackets; a comma stays with what it ends."""
    outer, parts, start, i = _outer(text), [], 0, 0
    while i < len(text):
        mark = next((m for m in marks if outer.startswith(m, i)), None)
        if mark is not None and i > 0:
            cut = i + len(mark) if mark == ", " else i + 1
            parts.append(text[start:cut].rstrip())
            start = cut
            i += len(mark)
        else:
            i += 1
    parts.append(text[start:].rstrip())
    return [p for p in parts if p]
