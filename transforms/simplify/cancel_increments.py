"""Cancellation of the adjoint of an increment.

`a[i] -= e` is a read, a subtraction and a write.  The adjoint of the write reads `a_bar[i]` and
sets it to 0.  The adjoint of the read adds it back.  Together they leave `a_bar[i]` unchanged, and
this pass removes both.  Only additions to the same array may lie in between: they commute, whether
they go to other elements or to the same one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..ir.nodes import (
    Assign,
    Block,
    Const,
    Function,
    Op,
    Operand,
    Var,
    blocks_of,
    operands_of,
    substitute,
    walk,
)
from .dce import is_user_code


def cancel_increments(function: Function) -> Function:
    """The function without pairs of a zeroing update and the addition that undoes it."""
    uses = Counter(
        x.name for s in walk(function.body) for x in operands_of(s) if isinstance(x, Var)
    )
    kept = [*function.results, *(v for _, v in function.effects)]
    uses.update(x.name for x in kept if isinstance(x, Var))
    renamed: dict[str, Operand] = {}
    removed: set[int] = set()
    for block in _blocks(function.body):
        _scan(block, uses, renamed, removed)
    if not removed:
        return function

    def new(x: Operand) -> Operand:
        while isinstance(x, Var) and x.name in renamed:
            x = renamed[x.name]
        return x

    return replace(
        function,
        body=substitute(_without(function.body, removed), new),
        results=[new(r) for r in function.results],
        effects=[(p, new(v)) for p, v in function.effects],
    )


def _blocks(block: Block) -> list[Block]:
    """A block and all its inner blocks."""
    return [block, *(inner for s in walk(block) for inner in blocks_of(s))]


def _scan(block: Block, uses: Counter[str], renamed: dict[str, Operand], removed: set[int]) -> None:
    """Find the pairs in one block; `removed` and `renamed` receive them."""
    read: dict[tuple[object, ...], Var] = {}  # elements read, by array version and index
    next_addition: dict[str, Assign] = {}  # the addition to a version, if it is the only reader
    for s in block:
        if not isinstance(s, Assign) or is_user_code(s) or not s.op.args:
            continue
        if s.op.name == "index":
            read.setdefault((s.op.args[0], s.op.args[1:], s.op.attrs["items"]), s.target)
        first = s.op.args[0]
        if s.op.name == "update_add" and isinstance(first, Var) and uses[first.name] == 1:
            next_addition[first.name] = s
    for s in block:
        if not isinstance(s, Assign) or is_user_code(s) or s.op.name != "update":
            continue
        array, value = s.op.args[:2]
        items = _items(s.op)
        element = read.get((array, s.op.args[2:], items)) if items is not None else None
        if element is None or not (isinstance(value, Const) and value.value == 0):
            continue
        back = next_addition.get(s.target.name)
        while back is not None and not _adds_back(back, s, element):
            back = next_addition.get(back.target.name)
        if back is not None and id(back) not in removed:
            removed |= {id(s), id(back)}
            renamed[s.target.name] = array
            renamed[back.target.name] = back.op.args[0]


def _items(op: Op) -> tuple[object, ...] | None:
    """The items of the `index` operation that reads the element that an update writes.

    None for index arrays and masks: an index array may contain an index twice.
    """
    if len(op.attrs["path"]) != 1 or op.attrs["path"][0][0] != "index":
        return None
    ((_, items),) = op.attrs["path"]
    if any(kind in ("array", "mask") for kind, *_ in items):
        return None
    return tuple(
        (kind, *(p if p is None else p - 1 for p in positions)) for kind, *positions in items
    )


def _adds_back(s: Assign, zeroed: Assign, element: Var) -> bool:
    """True if `s` adds the value `element` back to the element that `zeroed` sets to 0."""
    same_element = s.op.args[2:] == zeroed.op.args[2:] and s.op.attrs == zeroed.op.attrs
    return same_element and s.op.args[1] == element


def _without(block: Block, removed: set[int]) -> Block:
    """A block without the statements with the ids `removed`."""
    out: Block = []
    for s in block:
        if id(s) in removed:
            continue
        for name in ("body", "test", "then", "orelse"):
            inner = getattr(s, name, None)
            if isinstance(inner, list):
                s = replace(s, **{name: _without(inner, removed)})  # type: ignore[type-var]
        out.append(s)
    return out
