"""Saves the length of a list of numbers, where the sweep restores the list for its length alone.

    save(h_L7, h)                   n = list_len(h)
                                    save(n_L7, n)
    …                       →       …
    h_1 = restore(h_L7)             n_1 = restore(n_L7)
    h_bar = list_zeros_like(h_1)    h_bar = list_unstack(zeros(n_1))

A list that a loop makes anew in each round, as `h.pop(0)` does, would be kept as often.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.builder import Builder, NameSupply, slot_for
from ..ir.nodes import (
    Assign,
    Block,
    Function,
    ListOf,
    Op,
    Operand,
    Save,
    Scalar,
    Stmt,
    Var,
    blocks_of,
    operands_of,
    substitute,
)
from ..ir.scopes import names_of
from ..ir.symbolic_dims import Facts

_ASKS_LENGTH = ("list_len", "list_zeros_like")


def with_lengths(function: Function, facts: Facts) -> Function:
    """Changes `function`, which nobody else holds."""
    lists = {
        s.slot.name: (block, s)
        for block, s in _placed(function.body)
        if isinstance(s, Save) and _is_of_numbers(s.value)
    }
    if not lists:
        return function
    names = NameSupply(names_of(function))
    renamed: dict[str, Operand] = {}
    for (block, save), (sweep, restore, uses) in _for_lengths(function, lists):
        count = _length(block, save, names)
        slot, again = slot_for(count, save, names)
        block[_at(block, save)] = Save(slot, count, save.origin)
        sweep[_at(sweep, restore)] = Assign(
            again, Op("restore", (), {"slot": slot}), restore.origin
        )
        for held, use in uses:
            if use.op.name == "list_len":
                renamed[use.target.name] = again
                del held[_at(held, use)]
                continue
            b = Builder(names, facts, new := [])
            zeros = b.emit("zeros", again, dtype=use.target.type.dtype)
            new.append(Assign(use.target, Op("list_unstack", (zeros.operand,)), use.origin))
            at = _at(held, use)
            held[at : at + 1] = new
    if renamed:
        function.body[:] = substitute(
            function.body, lambda x: renamed.get(x.name, x) if isinstance(x, Var) else x
        )
    return function


def _for_lengths(
    function: Function, lists: dict[str, tuple[Block, Save]]
) -> Iterator[tuple[tuple[Block, Save], tuple[Block, Assign, list[tuple[Block, Assign]]]]]:
    """The slots of lists that are restored for their lengths alone: where they are saved, and where
    they are restored and used."""
    restores: dict[str, tuple[Block, Assign, str]] = {}
    for block, stmt in _placed(function.body):
        if isinstance(stmt, Assign) and stmt.op.name == "restore":
            slot = stmt.op.attrs["slot"].name
            if slot in lists:
                restores[stmt.target.name] = block, stmt, slot
    uses: dict[str, list[tuple[Block, Assign]]] = {name: [] for name in restores}
    others = {x.name for x in _returned(function) if isinstance(x, Var)}
    for block, stmt in _placed(function.body):
        for x in operands_of(stmt):
            if isinstance(x, Var) and x.name in restores:
                if isinstance(stmt, Assign) and stmt.op.name in _ASKS_LENGTH:
                    uses[x.name].append((block, stmt))
                else:
                    others.add(x.name)
    for name, (block, restore, slot) in restores.items():
        if uses[name] and name not in others:
            yield lists[slot], (block, restore, uses[name])


def _returned(function: Function) -> Iterator[Operand]:
    yield from function.results
    yield from (value for _, value in function.effects)


def _length(block: Block, save: Save, names: NameSupply) -> Var:
    """How long the list is, asked before it would have been saved."""
    assert isinstance(save.value, Var)
    hint = f"{save.value.user or save.value.name}_len"
    count = Var(names.fresh(hint), Scalar("int64", weak=True))
    block.insert(_at(block, save), Assign(count, Op("list_len", (save.value,)), save.origin))
    return count


def _at(block: Block, stmt: Stmt) -> int:
    return next(k for k, s in enumerate(block) if s is stmt)


def _is_of_numbers(x: Operand) -> bool:
    return isinstance(x.type, ListOf) and isinstance(x.type.elem, Scalar)


def _placed(block: Block) -> Iterator[tuple[Block, Stmt]]:
    for stmt in list(block):
        yield block, stmt
        for inner in blocks_of(stmt):
            yield from _placed(inner)
