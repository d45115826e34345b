"""Lower tape slots: each becomes an array indexed by iteration numbers, or a stack.

The program stays in value form, except for the storage itself: its variable is bound once,
written by `Store` or `Push`, and read by `index` or `pop`.  `notes["slot_variables"]` are the names
of these variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..checkpoint.tape_arrays import SlotPlan
from ..ir.builder import NameSupply
from ..ir.nodes import (
    Array,
    Assign,
    Block,
    For,
    Function,
    ListOf,
    Op,
    Operand,
    Push,
    Save,
    Scalar,
    Slot,
    Stmt,
    Store,
    Var,
    While,
    blocks_of,
    operands_of,
    targets_of,
    walk,
)
from ..ir.symbolic_dims import Dim
from .copy_insertion import group_start, line_of, stem

_PYTHON_DTYPES = ("float64", "int64", "bool", "complex128")

Path = list[tuple[Block, Stmt]]


def lower_tape_slots(function: Function, names: NameSupply) -> None:
    """Replace every `Save` and `restore`, in place."""
    plans: dict[str, SlotPlan] = function.notes.get("slots", {})
    better: dict[str, str] | None = function.notes.get("preferred_names")
    saves: dict[str, Path] = {}
    restores: dict[str, list[Path]] = {}
    for path in _paths(function.body, []):
        stmt = path[-1][1]
        if isinstance(stmt, Save):
            assert stmt.slot.name not in saves, stmt.slot
            saves[stmt.slot.name] = path
        elif isinstance(stmt, Assign) and stmt.op.name == "restore":
            restores.setdefault(stmt.op.attrs["slot"].name, []).append(path)
    variables = set()
    narrow = _has_narrow_values(function)
    for name, path in saves.items():
        if name not in restores:
            _remove(path)
            continue
        dense = name in plans and plans[name].kind == "dense"
        expand = _dense if dense else _stack
        variables.add(expand(path, restores[name], plans.get(name), names, better))
        if dense and narrow:
            _restore_python_numbers(restores[name], names)
    function.notes = {**function.notes, "slot_variables": frozenset(variables)}


def _paths(block: Block, outer: Path) -> Iterator[Path]:
    """For each statement: the statements that enclose it and itself, each with its block."""
    for stmt in block:
        path = [*outer, (block, stmt)]
        yield path
        for inner in blocks_of(stmt):
            yield from _paths(inner, path)


def _remove(path: Path) -> None:
    block, save = path[-1]
    block[:] = [s for s in block if s is not save]


def _replace(path: Path, new: Stmt) -> None:
    block, old = path[-1]
    block[:] = [new if s is old else s for s in block]


def _insert(path: Path, level: int, new: Assign) -> None:
    """Insert a statement before the source statement that holds path[level], or, if its operands
    are defined within that source statement, right before path[level]."""
    block, stmt = path[level]
    at = next(i for i, s in enumerate(block) if s is stmt)
    first = group_start(block, at, new.target)
    bound = {v for s in block[first:at] for v in targets_of(s)}
    block.insert(at if bound.intersection(operands_of(new)) else first, new)


def _variable(save: Save, better: dict[str, str] | None) -> str:
    """The name of a slot's storage.  In readable text `better` has names of temporaries."""
    v = save.value
    base = stem(save.slot.name)
    if isinstance(v, Var):
        base = v.user or (better or {}).get(v.name) or stem(v.name)
    if save.origin is None:
        return f"{base}_saved"
    return f"{base}_L{line_of(save.origin, better is not None)}"


def _dense(
    path: Path,
    restores: list[Path],
    plan: SlotPlan | None,
    names: NameSupply,
    better: dict[str, str] | None,
) -> str:
    save = path[-1][1]
    assert isinstance(save, Save) and plan is not None
    slot, rank = save.slot, len(plan.save_at)
    sizes = (*plan.sizes, *plan.shape)
    rows = list(slot.type.shape) if isinstance(slot.type, Array) else []
    for axis, *_ in plan.ragged_axes:
        rows[axis] = _dim(plan.shape[axis])
    type_ = Array(slot.type.dtype, (*(_dim(o) for o in plan.sizes), *rows))
    storage = Var(names.fresh(_variable(save, better)), type_)
    level = next(
        i
        for i, (_, s) in enumerate(path)
        if isinstance(s, (For, While)) and s.label == plan.loops[0]
    )
    op = Op("empty", sizes, {"dtype": slot.type.dtype})
    _insert(path, level, Assign(storage, op, None))

    def items(first: int) -> tuple[Any, ...]:
        """The index items; `first` is the operand position of the first index or length."""
        rest: list[tuple[Any, ...]] = [("all",)] * len(plan.shape)
        for k, (axis, *_) in enumerate(plan.ragged_axes):
            rest[axis] = ("slice", None, first + rank + k, None)
        return (*(("int", first + i) for i in range(rank)), *rest)

    # Positions in the path of a Store are those in the arguments of an `update`.
    step = (("index", items(2)),)
    at = (*plan.save_at, *(length for _, length, _ in plan.ragged_axes))
    _replace(path, Store(storage, save.value, step, at, origin=save.origin))
    at = (*plan.restore_at, *(length for _, _, length in plan.ragged_axes))
    for restore in restores:
        stmt = restore[-1][1]
        assert isinstance(stmt, Assign)
        stmt.op = Op("index", (storage, *at), {"items": items(1)})
    return storage.name


def _has_narrow_values(function: Function) -> bool:
    """Whether an operation with a Python number may have another dtype than with a NumPy scalar:
    whether there are values of other dtypes than those of Python numbers."""
    values = [*function.params, *(v for s in walk(function.body) for v in targets_of(s))]
    return any(v.type.dtype not in _PYTHON_DTYPES for v in values)


def _restore_python_numbers(restores: list[Path], names: NameSupply) -> None:
    """Convert what is read from a tape array, a NumPy scalar in the emitted source, to the Python
    number that was saved."""
    for restore in restores:
        block, stmt = restore[-1]
        assert isinstance(stmt, Assign)
        type_ = stmt.target.type
        if isinstance(type_, Scalar) and type_.weak and type_.dtype != "bool":
            read = Var(names.fresh(stem(stmt.target.name)), Scalar(type_.dtype))
            at = next(i for i, s in enumerate(block) if s is stmt)
            block.insert(at, Assign(read, stmt.op, stmt.origin))
            stmt.op = Op("cast", (read,), {"dtype": type_.dtype, "weak": True})


def _stack(
    path: Path,
    restores: list[Path],
    plan: SlotPlan | None,
    names: NameSupply,
    better: dict[str, str] | None,
) -> str:
    save = path[-1][1]
    assert isinstance(save, Save) and len(restores) == 1, save
    level = 0
    while path[level][0] is restores[0][level][0] and path[level][1] is restores[0][level][1]:
        level += 1
    stack = Var(names.fresh(_variable(save, better)), _stack_type(save.slot))
    op = Op("list_new", (), {"type": stack.type})
    _insert(path, level, Assign(stack, op, None))
    _replace(path, Push(stack, save.value, save.origin))
    stmt = restores[0][-1][1]
    assert isinstance(stmt, Assign)
    stmt.op = Op("pop", (stack,))
    return stack.name


def _stack_type(slot: Slot) -> ListOf:
    return ListOf(slot.type)  # type: ignore[arg-type]


def _dim(operand: Operand) -> Dim:
    type_ = operand.type
    assert isinstance(type_, Scalar)
    if type_.value is not None:
        return type_.value
    return Dim.of(operand.name if isinstance(operand, Var) else int(operand.value))
