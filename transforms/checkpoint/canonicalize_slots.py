"""Canonical form of tape slots after inlining: one slot per value, saved where it is defined.

What a call saves are its results, so that after inlining they are saved at the end of its body; and
a value that crosses the boundaries of two functions is saved twice.  The choice of what is stored
and what is computed again depends on both (`plan_tape.py`): a restored value can be computed from
those that were saved before it.
"""

from __future__ import annotations

from ..ir.nodes import (
    Assign,
    Block,
    Function,
    Operand,
    Save,
    Var,
    blocks_of,
    map_blocks,
    substitute,
    targets_of,
    walk,
)
from ..ir.record import replace


def canonicalize_slots(function: Function) -> Function:
    """The function with one slot for each value that is restored in one block, and with each value
    saved where it is defined."""
    return merge_slots(replace(function, body=_placed(function.body)))


def _placed(block: Block) -> Block:
    """The block with each `Save` directly after the statement in it that defines the value."""
    bound = {v.name: i for i, s in enumerate(block) for v in targets_of(s)}
    after: dict[int, Block] = {}
    moved: set[int] = set()
    for i, stmt in enumerate(block):
        at = None
        if isinstance(stmt, Save) and isinstance(stmt.value, Var):
            at = bound.get(stmt.value.name)
        if at is not None:
            after.setdefault(at, []).append(stmt)
            moved.add(i)
    out: Block = []
    for i, stmt in enumerate(block):
        if i not in moved:
            out.append(map_blocks(stmt, _placed))
        out += after.get(i, ())
    return out


def merge_slots(function: Function) -> Function:
    """The function with one slot for values that are saved in several and restored in one
    block."""
    slots = _restored(function.body)
    kept: dict[tuple[str, int], str] = {}
    dropped: set[str] = set()
    renamed: dict[str, Operand] = {}
    for stmt in walk(function.body):
        if not (isinstance(stmt, Save) and isinstance(stmt.value, Var)):
            continue
        name = stmt.slot.name
        if name not in slots:
            continue
        target, block = slots[name]
        first = kept.setdefault((stmt.value.name, block), name)
        if first != name:
            dropped.add(name)
            renamed[target.name] = slots[first][0]
    if not dropped:
        return function
    body = _moved_first(function.body, {slots[first][0].name for first in kept.values()}, dropped)

    def read(x: Operand) -> Operand:
        return renamed.get(x.name, x) if isinstance(x, Var) else x

    results = [read(x) for x in function.results]
    return replace(function, body=substitute(body, read), results=results)


def _restored(block: Block) -> dict[str, tuple[Var, int]]:
    """By slot: the variable that it is restored to, and the block in which that is."""
    found: dict[str, tuple[Var, int]] = {}
    for stmt in block:
        if isinstance(stmt, Assign) and stmt.op.name == "restore":
            found[stmt.op.attrs["slot"].name] = (stmt.target, id(block))
        for inner in blocks_of(stmt):
            found |= _restored(inner)
    return found


def _moved_first(block: Block, merged: set[str], dropped: set[str]) -> Block:
    """The block without the slots `dropped`; the restores of the others are at its head, before
    all that reads what they restore."""
    head: Block = []
    out: Block = []
    for stmt in block:
        if isinstance(stmt, Save) and stmt.slot.name in dropped:
            continue
        if isinstance(stmt, Assign) and stmt.op.name == "restore":
            if stmt.op.attrs["slot"].name in dropped:
                continue
            if stmt.target.name in merged:
                head.append(stmt)
                continue
        out.append(map_blocks(stmt, lambda inner: _moved_first(inner, merged, dropped)))
    return head + out
