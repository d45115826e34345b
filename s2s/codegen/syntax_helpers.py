"""Traversal of the AST of lowered source.  The node list of each statement is cached on it."""

from __future__ import annotations

import ast

_KNOWN = "_s2s_nodes"


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and its descendants in the order of `ast.walk`, without expression contexts."""
    known = getattr(node, _KNOWN, None)
    if known is not None:
        return known
    if isinstance(node, ast.FunctionDef):
        return [node, *(n for s in node.body for n in walk(s))]
    found = [node]
    for inner in found:  # the list grows during the iteration
        for field in inner._fields:
            value = getattr(inner, field, None)
            if isinstance(value, list):
                found += [v for v in value if isinstance(v, ast.AST)]
            elif isinstance(value, ast.AST) and field != "ctx":
                found.append(value)
    if isinstance(node, ast.stmt):
        setattr(node, _KNOWN, found)
    return found


def named(module: ast.Module, name: str) -> ast.FunctionDef:
    """The function of that name in a module."""
    return next(s for s in module.body if isinstance(s, ast.FunctionDef) and s.name == name)
