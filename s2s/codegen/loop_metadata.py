"""`llvm.loop` metadata: hints on unrolling, interleaving and vector width."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from llvmlite import ir

from . import value_types as types
from .type_inference import Types

METADATA_PREFIX = "s2s.loop"
INT32 = ir.IntType(32)
# Vector width for float32 loops: eight elements fill a vector register of most machines.
FLOAT32_VECTOR_WIDTH = 8
# Limit on the copies of the innermost statements made by fully unrolling a loop nest.
MAX_UNROLLED_COPIES = 32


def attach_loop_metadata(
    branch: Any, s: ast.For, known: Types, prefer_compile_time: bool, few_iterations: bool
) -> None:
    """Attach loop metadata to the latch branch of a loop.  `prefer_compile_time` prefers short
    compile time in loops with long bodies; `few_iterations` says that the loop has few
    iterations."""
    hints: list[tuple[str, int | None]] = []
    if few_iterations:
        hints += [("interleave.count", 1), ("unroll.disable", None)]
    elif _is_outer(s):
        # Runtime unrolling of an outer loop would only repeat the path on which an inner loop has
        # no iterations.  Full unrolling of a nest with few iterations, a known number, stays
        # enabled.
        unrolls = 0 < _unrolled_copies(s) <= MAX_UNROLLED_COPIES
        hints.append(("unroll.runtime.disable" if unrolls else "unroll.disable", None))
    elif prefer_compile_time and _has_long_body(s):
        hints += [("interleave.count", 1), ("unroll.runtime.disable", None)]
    if _is_mixed_precision(s, known):
        hints.append(("vectorize.width", FLOAT32_VECTOR_WIDTH))
    if hints:
        branch.set_metadata("llvm.loop", loop_metadata_node(branch.function.module, hints))


def _is_outer(s: ast.For) -> bool:
    return any(isinstance(n, (ast.For, ast.While)) for part in s.body for n in ast.walk(part))


def _unrolled_copies(s: ast.For) -> int:
    """The number of copies of the innermost statements after full unrolling; 0 if a trip count is
    not constant."""
    assert isinstance(s.iter, ast.Call)
    bounds: list[Any] = [a.value for a in s.iter.args if isinstance(a, ast.Constant)]
    trips = len(range(*bounds)) if len(bounds) == len(s.iter.args) else 0
    inside = [_unrolled_copies(n) if isinstance(n, ast.For) else 0 for n in _loops_in(s)]
    if trips == 1:
        return 1  # unrolling it makes no copies
    return trips * sum(inside, start=not inside) if all(inside) else 0


def _loops_in(s: ast.stmt) -> Iterator[ast.stmt]:
    """The outermost loops inside a statement."""
    for part in (*getattr(s, "body", ()), *getattr(s, "orelse", ())):
        if isinstance(part, (ast.For, ast.While)):
            yield part
        else:
            yield from _loops_in(part)


def _has_long_body(s: ast.For) -> bool:
    """True if the body has several statements or calls: copies of it take long to compile."""
    return len(s.body) > 1 or any(isinstance(n, ast.Call) for n in ast.walk(s.body[0]))


def _is_mixed_precision(s: ast.For, known: Types) -> bool:
    """True if all elements are float32 but some scalars are float64, such as reductions.  The
    vectoriser would choose the width for float64, which is half of the float32 elements that a
    vector holds.  LLVM prints a warning if it cannot follow a width hint, so the hint is given only
    for loops that certainly vectorise."""
    elements, scalars = set(), set()
    for node in (n for stmt in s.body for n in ast.walk(stmt)):
        if isinstance(node, ast.stmt) and not _is_simple(node, known):
            return False
        if isinstance(node, ast.Call) and node in known.calls and known.calls[node].numba:
            return False
        if isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Attribute):
            elements.add(known.of.get(node))
        elif isinstance(node, ast.BinOp):
            scalars.add(known.of.get(node))
    mixed = elements == {types.float32} and types.float64 in scalars
    return mixed and not _has_carried_dependence(s, known)


def _has_carried_dependence(s: ast.For, known: Types) -> bool:
    """True if the loop has a loop-carried dependence other than a reduction: a partial sum that is
    read, an array that is written and also accessed at another index, or an array element that is
    written at a loop-invariant index."""
    nodes, variable = [n for stmt in s.body for n in ast.walk(stmt)], ast.unparse(s.target)
    read = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    for stmt in s.body:
        if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
            if stmt.target.id in read:
                return True
        elif isinstance(stmt, ast.Assign) and isinstance(target := stmt.targets[0], ast.Name):
            if target.id in known.slots and read.count(target.id) > 1:
                return True
    accesses = [n for n in nodes if isinstance(n, ast.Subscript)]
    for access in accesses:
        if isinstance(access.ctx, ast.Store):
            array, index = ast.unparse(access.value), ast.unparse(access.slice)
            if any(
                ast.unparse(a.slice) != index for a in accesses if ast.unparse(a.value) == array
            ):
                return True
            if not any(
                isinstance(n, ast.Name) and n.id == variable for n in ast.walk(access.slice)
            ):
                return True
    return False


def _is_simple(s: ast.stmt, known: Types) -> bool:
    """True if a statement stores an element, binds a scalar once, or updates a sum reduction."""
    if isinstance(s, ast.AugAssign):
        return True
    if not isinstance(s, ast.Assign):
        return False
    (target,), value = s.targets, s.value
    if not isinstance(target, ast.Name) or target.id not in known.slots:
        return True
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, (ast.Add, ast.Sub)):
        return False
    return isinstance(value.left, ast.Name) and value.left.id == target.id


def loop_metadata_node(module: Any, told: list[tuple[str, int | None]]) -> Any:
    """The `llvm.loop` metadata node for a list of (hint, value), created once per module."""
    name = ".".join(
        [METADATA_PREFIX, *(what if value is None else f"{what}.{value}" for what, value in told)]
    )
    if name not in module.namedmetadata:
        parts = []
        for what, value in told:
            text = ir.MetaDataString(module, f"llvm.loop.{what}")
            parts.append(module.add_metadata([text] if value is None else [text, INT32(value)]))
        node = module.add_metadata(parts)
        node.operands = (node, *node.operands)  # a loop ID is distinct: its first operand is itself
        module.add_named_metadata(name).add(node)
    return module.get_named_metadata(name).operands[0]
