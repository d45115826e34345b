"""Expressions that stand as statements for their effects become `if` statements.

    test and effect()               if test:
                                        effect()
    test or effect()                if not test:
                                        effect()
    one() if test else other()      if test:
                                        one()
                                    else:
                                        other()

As a statement it does not matter that the sides may have values of different kinds.
"""

from __future__ import annotations

from typing import Any

from ...syntax import core as c
from ...syntax.traverse import rewrite


def expand_effects(func: c.Func) -> c.Func:
    """A function in which no statement is an operation with a condition."""
    return rewrite(func, lambda node: _changed(node) if isinstance(node, c.Eval) else node)


def _changed(node: c.Eval) -> Any:
    at, value = node.at, node.value
    if isinstance(value, c.Bool):
        first, last = value.values[:-1], value.values[-1]
        test = first[0] if len(first) == 1 else c.Bool(value.at, value.op, first)
        if value.op == "or":
            test = c.Unary(value.at, "not", test)
        return c.If(at, test, _block(last))
    if isinstance(value, c.Choose):
        return c.If(at, value.test, _block(value.body), _block(value.orelse))
    return node


def _block(value: c.Expr) -> c.Block:
    return (_changed(c.Eval(value.at, value)),)
