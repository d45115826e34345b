"""Save the length of a list of scalars where the sweep needs the list only for its length.

    save(h_L7, h)                   n = list_len(h)
                                    save(n_L7, n)
    …                       →       …
    h_1 = restore(h_L7)             n_1 = restore(n_L7)
    h_bar = list_zeros_like(h_1)    h_bar = list_unstack(zeros(n_1))

Without this, a list that a loop creates anew in each iteration, as `h.pop(0)` does, would be saved
once per iteration.
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

_LENGTH_USES = ("list_len", "list_zeros_like")


def save_list_lengths(function: Function, facts: Facts) -> Function:
    """The function with such lists replaced by their lengths.  Modifies `function` in place."""
    lists = {
        s.slot.name: (block, s)
        for block, s in _statements(function.body)
        if isinstance(s, Save) and _is_scalar_list(s.value)
    }
    if not lists:
        return function
    names = NameSupply(names_of(function))
    renamed: dict[str, Operand] = {}
    for (block, save), (sweep, restore, uses) in _length_only_slots(function, lists):
        count = _length(block, save, names)
        slot, again = slot_for(count, save, names)
        block[_index_in(block, save)] = Save(slot, count, save.origin)
        sweep[_index_in(sweep, restore)] = Assign(
            again, Op("restore", (), {"slot": slot}), restore.origin
        )
        for held, use in uses:
            if use.op.name == "list_len":
                renamed[use.target.name] = again
                del held[_index_in(held, use)]
                continue
            b = Builder(names, facts, new := [])
            zeros = b.emit("zeros", again, dtype=use.target.type.dtype)
            new.append(Assign(use.target, Op("list_unstack", (zeros.operand,)), use.origin))
            at = _index_in(held, use)
            held[at : at + 1] = new
    if renamed:
        function.body[:] = substitute(
            function.body, lambda x: renamed.get(x.name, x) if isinstance(x, Var) else x
        )
    return function


def _length_only_slots(
    function: Function, lists: dict[str, tuple[Block, Save]]
) -> Iterator[tuple[tuple[Block, Save], tuple[Block, Assign, list[tuple[Block, Assign]]]]]:
    """The list slots that are restored only for their length: the `Save` with its block, and the
    `restore` with its block and uses."""
    restores: dict[str, tuple[Block, Assign, str]] = {}
    for block, stmt in _statements(function.body):
        if isinstance(stmt, Assign) and stmt.op.name == "restore":
            slot = stmt.op.attrs["slot"].name
            if slot in lists:
                restores[stmt.target.name] = block, stmt, slot
    uses: dict[str, list[tuple[Block, Assign]]] = {name: [] for name in restores}
    others = {x.name for x in _returned(function) if isinstance(x, Var)}
    for block, stmt in _statements(function.body):
        for x in operands_of(stmt):
            if isinstance(x, Var) and x.name in restores:
                if isinstance(stmt, Assign) and stmt.op.name in _LENGTH_USES:
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
    """Insert the computation of the list's length before its `Save`; returns the variable."""
    assert isinstance(save.value, Var)
    hint = f"{save.value.user or save.value.name}_len"
    count = Var(names.fresh(hint), Scalar("int64", weak=True))
    block.insert(_index_in(block, save), Assign(count, Op("list_len", (save.value,)), save.origin))
    return count


def _index_in(block: Block, stmt: Stmt) -> int:
    return next(k for k, s in enumerate(block) if s is stmt)


def _is_scalar_list(x: Operand) -> bool:
    return isinstance(x.type, ListOf) and isinstance(x.type.elem, Scalar)


def _statements(block: Block) -> Iterator[tuple[Block, Stmt]]:
    """All statements, nested ones included, each with its block."""
    for stmt in list(block):
        yield block, stmt
        for inner in blocks_of(stmt):
            yield from _statements(inner)
