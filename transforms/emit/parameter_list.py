"""The parameters of an emitted function as the user wrote them: annotations, defaults, `/`, `*`.

The page imports NumPy, and `math` where it is used.  An annotation or a default that names anything
else is dropped; so is a default whose value is not sure to be the same each time it is computed.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

import libcst as cst
import numpy as np

from ..frontend.cst_to_core import Translator
from ..frontend.source import parsed
from ..ir.record import record
from ..syntax import core
from ..syntax.printer import show

_MODULES = {"np": np, "math": math}


@record
class Parameter:
    """A parameter as text; `kind` is "positional only", "plain" or "keyword only"."""

    name: str
    annotation: str = ""
    default: str = ""
    kind: str = "plain"


def users_parameters(tree: Translator, node: cst.FunctionDef) -> dict[str, Parameter]:
    """The parameters of a definition by name, without `*args` and `**kwargs`."""
    params = node.params
    kinds: list[tuple[str, Sequence[cst.Param]]] = [
        ("positional only", params.posonly_params),
        ("plain", params.params),
        ("keyword only", params.kwonly_params),
    ]
    found: dict[str, Parameter] = {}
    for kind, several in kinds:
        for p in several:
            name = tree.name(p.name.value)
            annotation = "" if p.annotation is None else _annotation(tree, p.annotation.annotation)
            default = "" if p.default is None else _default(tree, p.default)
            found[name] = Parameter(name, annotation, default, kind)
    return found


def parameter_list(params: Sequence[Parameter]) -> str:
    """The text between the parentheses of a `def`, of parameters in the order of their kinds."""
    texts: list[str] = []
    needed = [k for k, p in enumerate(params) if not p.default and p.kind != "keyword only"]
    # A default before a parameter that has none is not allowed.
    first = max(needed, default=-1)
    for k, p in enumerate(params):
        before = params[k - 1].kind if k else ""
        if before == "positional only" != p.kind:
            texts.append("/")
        if p.kind == "keyword only" != before:
            texts.append("*")
        text = f"{p.name}: {p.annotation}" if p.annotation else p.name
        if p.default and (k > first or p.kind == "keyword only"):
            text += f" = {p.default}" if p.annotation else f"={p.default}"
        texts.append(text)
    if params and params[-1].kind == "positional only":
        texts.append("/")
    return ", ".join(texts)


def return_annotation(tree: Translator, node: cst.FunctionDef) -> str:
    """What a definition says of its result; "" if that is not known on the page."""
    return "" if node.returns is None else _annotation(tree, node.returns.annotation)


def _text(node: cst.BaseExpression, expression: core.Expr) -> str:
    """An expression on one line: as written, if it stands on one."""
    text = cst.Module([]).code_for_node(node)
    return show(expression) if "\n" in text else text


def _annotation(tree: Translator, node: cst.BaseExpression) -> str:
    expression = tree.expr(node)
    if isinstance(expression, core.Const) and isinstance(expression.value, str):
        try:
            (quoted,) = parsed(expression.value)
        except (cst.ParserSyntaxError, ValueError):
            return ""
        known = isinstance(quoted, core.Eval) and _is_type(quoted.value)
    else:
        known = _is_type(expression)
    return _text(node, expression) if known else ""


def _is_type(node: core.Node) -> bool:
    """Whether an annotation is a class that is known on the page, `None`, a union of such, or
    `list[...]` and its like."""
    if isinstance(node, (core.Attr, core.Name)):
        return isinstance(_resolved(node), type)
    if isinstance(node, core.Binary):
        several = not isinstance(node.left, core.Const) or not isinstance(node.right, core.Const)
        return node.op == "|" and several and _is_type(node.left) and _is_type(node.right)
    if isinstance(node, core.Item):
        index = node.index
        parts = index.items if isinstance(index, core.Seq) else (index,)
        generic = _resolved(node.value) in (list, tuple, dict, type)
        return generic and all(map(_is_type, parts))
    return isinstance(node, core.Const) and node.value in (None, ...)


def _default(tree: Translator, node: cst.BaseExpression) -> str:
    expression = tree.expr(node)
    return _text(node, expression) if _is_constant(expression) else ""


def _is_constant(node: Any) -> bool:
    """Whether an expression is a number, a text or a tuple of them that is computed from literals,
    constants of NumPy or `math`, and conversions such as `np.float32(2)`."""
    if isinstance(node, core.Const):
        return True
    if isinstance(node, core.Attr):
        return isinstance(_resolved(node), (bool, int, float, complex, np.generic))
    if isinstance(node, core.Unary):
        return _is_constant(node.operand)
    if isinstance(node, core.Seq) and node.kind == "tuple":
        return all(map(_is_constant, node.items))
    if isinstance(node, core.Binary):
        return _is_constant(node.left) and _is_constant(node.right)
    if isinstance(node, core.Call) and not node.keywords:
        made = _resolved(node.function)
        number = isinstance(made, type) and issubclass(made, (int, float, complex, np.generic))
        return number and all(map(_is_constant, node.args))
    return False


def _resolved(node: Any) -> Any:
    """What a name means on the page; None if it is not known there."""
    if isinstance(node, core.Name):
        return _MODULES.get(node.id) or getattr(builtins, node.id, None)
    if isinstance(node, core.Attr):
        return getattr(_resolved(node.value), node.name, None)
    return None
