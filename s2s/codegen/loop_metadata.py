"""What the optimiser is told of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from llvmlite import ir

from . import value_types as types
from .type_inference import Types

NAME = "s2s.loop"
NUMBER = ir.IntType(32)
# Elements of float32 that fill a vector of most machines.
WIDE = 8
# What is written out at most, of loops within loops.
COPIES = 32


def advise(branch: Any, s: ast.For, known: Types, frugal: bool, brief: bool) -> None:
    """Notes at the branch back to a loop's head what it is worth to do with the loop."""
    told: list[tuple[str, int | None]] = []
    if brief:
        told += [("interleave.count", 1), ("unroll.disable", None)]
    elif _is_outer(s):
        # All that could be repeated is what is left of it where a loop inside has no rounds; or
        # a few rounds of known number, each with all that it holds.
        worth = 0 < _copies(s) <= COPIES
        told.append(("unroll.runtime.disable" if worth else "unroll.disable", None))
    elif frugal and _is_long(s):
        told += [("interleave.count", 1), ("unroll.runtime.disable", None)]
    if _is_narrow(s, known):
        told.append(("vectorize.width", WIDE))
    if told:
        branch.set_metadata("llvm.loop", note(branch.function.module, told))


def _is_outer(s: ast.For) -> bool:
    return any(isinstance(n, (ast.For, ast.While)) for part in s.body for n in ast.walk(part))


def _copies(s: ast.For) -> int:
    """How often the innermost statements would stand there if all rounds were written out; 0 if
    that is not known."""
    assert isinstance(s.iter, ast.Call)
    bounds: list[Any] = [a.value for a in s.iter.args if isinstance(a, ast.Constant)]
    rounds = len(range(*bounds)) if len(bounds) == len(s.iter.args) else 0
    inside = [_copies(n) if isinstance(n, ast.For) else 0 for n in _loops_in(s)]
    if rounds == 1:
        return 1  # which takes no copies
    return rounds * sum(inside, start=not inside) if all(inside) else 0


def _loops_in(s: ast.stmt) -> Iterator[ast.stmt]:
    """Those that no other loop is between."""
    for part in (*getattr(s, "body", ()), *getattr(s, "orelse", ())):
        if isinstance(part, (ast.For, ast.While)):
            yield part
        else:
            yield from _loops_in(part)


def _is_long(s: ast.For) -> bool:
    """Several copies of the body would take long to compile."""
    return len(s.body) > 1 or any(isinstance(n, ast.Call) for n in ast.walk(s.body[0]))


def _is_narrow(s: ast.For, known: Types) -> bool:
    """All elements are float32 but numbers are float64, such as sums.  Those alone would tell the
    optimiser how many elements to take at once, which is half of what vectors hold.  It complains
    aloud where it cannot do as it is told, so it is told only of loops that it surely can."""
    elements, numbers = set(), set()
    for node in (n for stmt in s.body for n in ast.walk(stmt)):
        if isinstance(node, ast.stmt) and not _is_simple(node, known):
            return False
        if isinstance(node, ast.Call) and node in known.calls and known.calls[node].numba:
            return False
        if isinstance(node, ast.Subscript) and not isinstance(node.value, ast.Attribute):
            elements.add(known.of.get(node))
        elif isinstance(node, ast.BinOp):
            numbers.add(known.of.get(node))
    narrow = elements == {types.float32} and types.float64 in numbers
    return narrow and not _is_chained(s, known)


def _is_chained(s: ast.For, known: Types) -> bool:
    """Whether a round needs what an earlier one left, other than to add to it: a sum so far, or an
    element of an array that is written at another place, or in each round at the same."""
    nodes, here = [n for stmt in s.body for n in ast.walk(stmt)], ast.unparse(s.target)
    read = [n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    for stmt in s.body:
        if isinstance(stmt, ast.AugAssign) and isinstance(stmt.target, ast.Name):
            if stmt.target.id in read:
                return True
        elif isinstance(stmt, ast.Assign) and isinstance(target := stmt.targets[0], ast.Name):
            if target.id in known.slots and read.count(target.id) > 1:
                return True
    places = [n for n in nodes if isinstance(n, ast.Subscript)]
    for place in places:
        if isinstance(place.ctx, ast.Store):
            array, index = ast.unparse(place.value), ast.unparse(place.slice)
            if any(ast.unparse(p.slice) != index for p in places if ast.unparse(p.value) == array):
                return True
            if not any(isinstance(n, ast.Name) and n.id == here for n in ast.walk(place.slice)):
                return True
    return False


def _is_simple(s: ast.stmt, known: Types) -> bool:
    """Whether a statement writes an element, gives a number a name, or adds to a sum."""
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


def note(module: Any, told: list[tuple[str, int | None]]) -> Any:
    """What is told of a loop, in LLVM's terms."""
    name = ".".join([NAME, *(what if value is None else f"{what}.{value}" for what, value in told)])
    if name not in module.namedmetadata:
        parts = []
        for what, value in told:
            text = ir.MetaDataString(module, f"llvm.loop.{what}")
            parts.append(module.add_metadata([text] if value is None else [text, NUMBER(value)]))
        node = module.add_metadata(parts)
        node.operands = (node, *node.operands)  # by which LLVM knows it speaks of a loop
        module.add_named_metadata(name).add(node)
    return module.get_named_metadata(name).operands[0]
