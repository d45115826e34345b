"""`with` statements that change nothing that compiled code does, and `contextlib.suppress`."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np

from ...syntax import core as c
from ...syntax.printer import show
from ...syntax.traverse import rewrite


def is_errstate(node: c.With) -> bool:
    """`with np.errstate(divide="ignore")`, which states what holds in compiled code anyway: no
    warning, no error."""
    return bool(node.items) and all(map(_sets_errstate, node.items))


def _sets_errstate(item: c.WithItem) -> bool:
    return (
        isinstance(item.value, c.Call)
        and item.target is None
        and show(item.value.function) in ("np.errstate", "numpy.errstate", "errstate")
        and not item.value.args
        and all(
            isinstance(k.value, c.Const) and k.value.value in ("ignore", "warn")
            for k in item.value.keywords
        )
    )


def expand_neutral_with(func: c.Func) -> c.Func:
    """A function in which `with contextlib.nullcontext(...)`, `with warnings.catch_warnings()` and
    `with np.printoptions(...)` are their bodies, under a test that the name stands for that class:

        with nullcontext(e) as y:           if nullcontext is contextlib.nullcontext:
            A                                   y = e
                                                A
                                            else: (refused)

    `with contextlib.suppress(E)` is a `try` whose handler does nothing.
    """

    def change(node: Any) -> Any:
        if not isinstance(node, c.With) or is_errstate(node):
            return node
        block: c.Block = node.body
        for item in reversed(node.items):
            found = _around(item, block)
            if found is None:
                return node
            block = found
        return block

    return rewrite(func, change)


def _around(item: c.WithItem, body: c.Block) -> c.Block | None:
    """What stands for `with item: body`, None if the item is another context manager."""
    call = item.value
    if _sets_errstate(item):
        return body
    if not isinstance(call, c.Call) or any(isinstance(arg, c.Star) for arg in call.args):
        return None
    name = show(call.function)
    if name in ("np.printoptions", "numpy.printoptions", "printoptions") and not item.target:
        values = (*call.args, *(k.value for k in call.keywords))
        given = tuple(c.Eval(v.at, v) for v in values if not isinstance(v, c.Const))
        guard = c.Guard((*body[0].at[:2], *body[-1].at[2:]), (), silent=True)
        return (_only_if(call.function, np.printoptions, (*given, guard, *body)),)
    if call.keywords:
        return None
    if name in ("contextlib.suppress", "suppress") and not item.target:
        handler = c.Handler(item.at, c.Seq(item.at, "tuple", call.args), None, (c.Pass(item.at),))
        made = c.Try(item.at, body, (handler,))
        return (_only_if(call.function, contextlib.suppress, (made,)),)
    if len(call.args) > 1:
        return None
    if name in ("contextlib.nullcontext", "nullcontext"):
        value = call.args[0] if call.args else c.Const(item.at, None)
        start: c.Stmt = c.Eval(item.at, value)
        if item.target is not None:
            start = c.Assign(item.at, (item.target,), value)
        return (_only_if(call.function, contextlib.nullcontext, (start, *body)),)
    if name in ("warnings.catch_warnings", "catch_warnings") and not call.args and not item.target:
        inside = tuple(map(_without_filter, body))
        return (_only_if(call.function, warnings.catch_warnings, inside),)
    return None


def _without_filter(stmt: c.Stmt) -> c.Stmt:
    """`warnings.simplefilter("ignore")` does nothing: compiled code never warns."""
    call = stmt.value if isinstance(stmt, c.Eval) else None
    if not isinstance(call, c.Call) or not isinstance(call.function, (c.Name, c.Attr)):
        return stmt
    made = {"warnings.simplefilter": warnings.simplefilter, "simplefilter": warnings.simplefilter}
    setter = made.get(show(call.function))
    values = [*call.args, *(k.value for k in call.keywords if k.name is not None)]
    plain = len(values) == len(call.args) + len(call.keywords) and values
    if setter is None or not plain or not all(isinstance(v, (c.Const, c.Name)) for v in values):
        return stmt
    action = values[0].value if isinstance(values[0], c.Const) else None
    if action not in ("ignore", "default", "always", "module", "once"):
        return stmt
    return _only_if(call.function, setter, (c.Pass(stmt.at),))


def _only_if(name: c.Expr, intended: Any, body: c.Block) -> c.If:
    at = name.at
    test = c.Compare(at, name, ("is",), (c.Const(at, intended),))
    why = f"{show(name)} is not the one of the standard library, and is not supported here"
    return c.If(at, test, body, (c.Refused(at, why, "write what it does"),))
