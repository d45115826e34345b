"""Reduces a failing program while it still fails: statements are removed, blocks are replaced by
their bodies, expressions by subexpressions."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator

BLOCKS = ("body", "orelse")
# Positions at which an expression cannot be replaced.
_FIXED = (ast.expr_context, ast.operator, ast.Slice, ast.Starred)


def candidates(tree: ast.Module) -> Iterator[ast.Module]:
    """Smaller programs: without a run of statements, with a block unwrapped, or with a shorter
    expression."""
    yield from _helpers(tree)
    count = sum(1 for _ in _blocks(tree))
    for at in range(count):
        size = len(_block(tree, at))
        for width in sorted({max(1, size // 2), 2, 1}, reverse=True):
            for i in range(size - width + 1):
                smaller = copy.deepcopy(tree)
                block = _block(smaller, at)
                if not any(isinstance(s, ast.Return) for s in block[i : i + width]) or at:
                    block[i : i + width] = [] if len(block) > width else [ast.Pass()]
                    yield smaller
    for at in range(count):
        for i, stmt in enumerate(_block(tree, at)):
            for inner in BLOCKS:
                if getattr(stmt, inner, None) and not isinstance(stmt, ast.FunctionDef):
                    smaller = copy.deepcopy(tree)
                    block = _block(smaller, at)
                    block[i : i + 1] = getattr(block[i], inner)
                    yield smaller
            if getattr(stmt, "orelse", None):
                smaller = copy.deepcopy(tree)
                _block(smaller, at)[i].orelse = []  # type: ignore[attr-defined]
                yield smaller
    yield from _shorter(tree)


def _helpers(tree: ast.Module) -> Iterator[ast.Module]:
    for i, stmt in enumerate(tree.body):
        if isinstance(stmt, (ast.FunctionDef, ast.Import)) and getattr(stmt, "name", "") != "f":
            smaller = copy.deepcopy(tree)
            del smaller.body[i]
            yield smaller


def _main(tree: ast.Module) -> ast.FunctionDef:
    return next(s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == "f")


def _blocks(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(_main(tree)):
        for name in BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list) and block:
                yield block


def _block(tree: ast.Module, at: int) -> list[ast.stmt]:
    return next(block for i, block in enumerate(_blocks(tree)) if i == at)


def _shorter(tree: ast.Module) -> Iterator[ast.Module]:
    """The programs with one expression replaced by a subexpression or a number."""
    places = list(_expressions(_main(tree)))
    for at in range(len(places)):
        parent, field, index, node = places[at]
        parts = [n for n in ast.walk(node) if isinstance(n, ast.expr) and n is not node]
        parts = [p for p in parts if not isinstance(getattr(p, "ctx", None), ast.Store)]
        parts.sort(key=lambda p: len(ast.unparse(p)))
        if not isinstance(node, (ast.Constant, ast.Name)):
            parts.append(ast.Constant(0.5))
        for part in parts[:12]:
            smaller = copy.deepcopy(tree)
            where, field, index, _ = list(_expressions(_main(smaller)))[at]
            new = copy.deepcopy(part)
            if index is None:
                setattr(where, field, new)
            else:
                getattr(where, field)[index] = new
            yield smaller


def _expressions(
    root: ast.AST,
) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    """Every expression that is read, with its position, outer ones first."""
    for node in ast.walk(root):
        for field, value in ast.iter_fields(node):
            if isinstance(node, ast.Call) and field == "func":
                continue
            entries = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for index, child in entries:
                read = not isinstance(getattr(child, "ctx", None), ast.Store)
                if isinstance(child, ast.expr) and read and not isinstance(child, _FIXED):
                    yield node, field, index, child


def shrink(source: str, fails: Callable[[str], bool], seconds: float = 60.0) -> str:
    """Reduce a source.  `fails(source)` is True if it is valid and still fails in the same way."""
    tree = ast.parse(source)
    best = ast.unparse(tree)
    if not fails(best):
        return source
    tried = {best}
    deadline = time.monotonic() + seconds
    progress = True
    while progress:
        progress = False
        for smaller in candidates(tree):
            try:
                text = ast.unparse(ast.fix_missing_locations(smaller))
            except Exception:  # noqa: BLE001, S112  (no such program)
                continue
            if text in tried or len(text) >= len(best):
                continue
            tried.add(text)
            if time.monotonic() > deadline:
                return best
            if fails(text):
                tree, best, progress = ast.parse(text), text, True
                break
    return best
