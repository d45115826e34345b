"""What an increment does to an adjoint.

`a[i] -= e` is a read, a difference and a write.  The adjoint of the write takes `a_bar[i]` off and
leaves 0, that of the read adds it back: all in all nothing happens to it.  Both are dropped here;
what is added to other places, or to the same, in between only adds.
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
from .dce import is_users


def drop_increments(function: Function) -> Function:
    uses = Counter(
        x.name for s in walk(function.body) for x in operands_of(s) if isinstance(x, Var)
    )
    kept = [*function.results, *(v for _, v in function.effects)]
    uses.update(x.name for x in kept if isinstance(x, Var))
    renamed: dict[str, Operand] = {}
    gone: set[int] = set()
    for block in _blocks(function.body):
        _scan(block, uses, renamed, gone)
    if not gone:
        return function

    def new(x: Operand) -> Operand:
        while isinstance(x, Var) and x.name in renamed:
            x = renamed[x.name]
        return x

    return replace(
        function,
        body=substitute(_without(function.body, gone), new),
        results=[new(r) for r in function.results],
        effects=[(p, new(v)) for p, v in function.effects],
    )


def _blocks(block: Block) -> list[Block]:
    return [block, *(inner for s in walk(block) for inner in blocks_of(s))]


def _scan(block: Block, uses: Counter[str], renamed: dict[str, Operand], gone: set[int]) -> None:
    read: dict[tuple[object, ...], Var] = {}  # elements of a version, by where they are
    next_of: dict[str, Assign] = {}  # the addition to a version that nothing else reads
    for s in block:
        if not isinstance(s, Assign) or is_users(s) or not s.op.args:
            continue
        if s.op.name == "index":
            read.setdefault((s.op.args[0], s.op.args[1:], s.op.attrs["items"]), s.target)
        first = s.op.args[0]
        if s.op.name == "update_add" and isinstance(first, Var) and uses[first.name] == 1:
            next_of[first.name] = s
    for s in block:
        if not isinstance(s, Assign) or is_users(s) or s.op.name != "update":
            continue
        array, value = s.op.args[:2]
        items = _items(s.op)
        taken = read.get((array, s.op.args[2:], items)) if items is not None else None
        if taken is None or not (isinstance(value, Const) and value.value == 0):
            continue
        back = next_of.get(s.target.name)
        while back is not None and not _adds_back(back, s, taken):
            back = next_of.get(back.target.name)
        if back is not None and id(back) not in gone:
            gone |= {id(s), id(back)}
            renamed[s.target.name] = array
            renamed[back.target.name] = back.op.args[0]


def _items(op: Op) -> tuple[object, ...] | None:
    """Where an update writes, as the items of the `index` that reads there; an array of indices may
    name a place twice, which is another matter."""
    if len(op.attrs["path"]) != 1 or op.attrs["path"][0][0] != "index":
        return None
    ((_, items),) = op.attrs["path"]
    if any(kind in ("array", "mask") for kind, *_ in items):
        return None
    return tuple((kind, *(p if p is None else p - 1 for p in places)) for kind, *places in items)


def _adds_back(s: Assign, zeroed: Assign, taken: Var) -> bool:
    same_place = s.op.args[2:] == zeroed.op.args[2:] and s.op.attrs == zeroed.op.attrs
    return same_place and s.op.args[1] == taken


def _without(block: Block, gone: set[int]) -> Block:
    out: Block = []
    for s in block:
        if id(s) in gone:
            continue
        for name in ("body", "test", "then", "orelse"):
            inner = getattr(s, name, None)
            if isinstance(inner, list):
                s = replace(s, **{name: _without(inner, gone)})  # type: ignore[type-var]
        out.append(s)
    return out
