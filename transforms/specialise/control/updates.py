"""Writes into arrays: new versions of their cells."""

from __future__ import annotations

from typing import Any

from ...ir.builder import Sym
from ...ir.nodes import Array, Operand, Var, is_complex
from ...ir.path_kinds import KIND_NAMES, at_most, dtype_kind
from ...ir.record import record
from ...rules.integer_range_checks import require_in_range
from ...syntax import core
from ..heap.arrays import Arrays, is_basic, number_items
from ..places import Places
from ..session import Part
from ..values import Cell, Num, Ref, ViewStep, array
from ..variables import Variables
from .joins import Joins


@record(eq=False)
class Updates(Part):
    """Writes into arrays."""

    places: Places
    variables: Variables
    arrays: Arrays
    joins: Joins

    def write(
        self,
        ref: Ref,
        steps: tuple[ViewStep, ...],
        value: Sym | Operand,
        node: core.Node,
        add: bool = False,
    ) -> None:
        """`ref[steps] = value` (or `+=`, counting repeated indices): a new version of the cell."""
        cell = ref.cell
        self.arrays.refuse_tensor(cell, node)
        if cell.choice is not None:
            self._write_choice(ref, steps, value, node, add)
            return
        if cell.param is not None and self.session.outer is not None and not cell.inout:
            self.places.refuse(
                node,
                f"{cell.label} belongs to the caller, and a function whose recursion ends "
                "at run time may not write into it",
                "copy the array, and return the copy",
            )
        self.arrays.refuse_shared(cell, node)
        if cell.readonly:
            # Nothing is written, so nothing but this raises.
            self.b.fail("ValueError", "assignment destination is read-only")
            return
        base = self.state.heap[cell]
        assert isinstance(base, Var) and isinstance(base.type, Array)
        path, operands = number_path((*ref.path, *steps), 2)
        value = self.b.sym(value)
        if is_complex(value.type) and not is_complex(base.type):
            self.places.refuse(
                node,
                f"a complex value cannot be stored in an array of {base.type.dtype}",
                "make the array complex, or store the value's .real",
            )
        self._refuse_truncation(base, value, label=base.user or cell.label, node=node)
        basic = all(kind != "index" or is_basic(what) for kind, what in steps)
        require_in_range(self.b, value, base.type.dtype, numpy_scalars=basic)
        value = value.astype(base.type.dtype)
        label = base.user or cell.label
        new = self.b.emit(
            "update_add" if add else "update",
            base,
            value,
            *operands,
            path=path,
            hint=label or "t",
            user=label,
        )
        assert isinstance(new.operand, Var)
        self.state.heap[cell] = new.operand
        self.variables.note_assignment(cell, base)
        self._refresh_choices(cell, node)

    def _refuse_truncation(self, base: Var, value: Sym, label: str, node: core.Node) -> None:
        """Refuses a store that NumPy converts to the dtype that the array has on one path only."""
        least, own = self.b.least_kind(base), dtype_kind(base.type)
        if least in ("", own) or at_most(dtype_kind(value.type), least):
            return
        names = KIND_NAMES[least], KIND_NAMES[own]
        self.places.refuse(
            node,
            f"{label or 'this array'} has the dtype {names[0]} on one path and {names[1]} on "
            f"another, and NumPy would convert what is stored in it to {names[0]} on the first",
            f"give it the dtype {names[1]} on all paths, by dtype= or by a number such as 0.0",
        )

    def write_whole(self, ref: Ref, new: Var, node: core.Node) -> None:
        """The array `ref`, with the contents that a callee has given it."""
        if ref.path or ref.cell.param is not None:  # a store where the call is
            self.write(ref, (), new, node)
            return
        self.arrays.refuse_tensor(ref.cell, node)
        self.arrays.refuse_shared(ref.cell, node)
        assert not ref.cell.readonly and ref.cell.choice is None
        base = self.state.heap[ref.cell]
        assert isinstance(base, Var)
        self._refuse_truncation(base, Sym(self.b, new), ref.cell.label, node)
        self.state.heap[ref.cell] = new
        self.variables.note_assignment(ref.cell, base)
        self._refresh_choices(ref.cell, node)

    def _write_choice(self, ref: Ref, steps: Any, value: Any, node: core.Node, add: bool) -> None:
        """Writes into a value that is one of two arrays: into the one that the condition
        selects."""
        cond, x, y = ref.cell.choice

        def into(target: Ref) -> Any:
            def run() -> bool:
                self.write(Ref(target.cell, target.path + ref.path), steps, value, node, add)
                return False

            return run

        self.joins.if_(Num(cond), into(x), into(y))

    def _refresh_choices(self, written: Cell, node: core.Node) -> None:
        """Reads again the values that are one of two arrays, of which one was written."""
        for cell in list(self.state.heap):
            if cell.choice is not None and written in (cell.choice[1].cell, cell.choice[2].cell):
                cond, x, y = cell.choice
                value = self.joins.choose(
                    Num(cond),
                    lambda x=x: self._fresh_read(x),
                    lambda y=y: self._fresh_read(y),
                    self.places.stmt or node,
                )
                self.state.heap[cell] = self.state.heap[array(value).cell]

    def _fresh_read(self, ref: Ref) -> Ref:
        value = self.arrays.read(ref)
        return self.arrays.new_array(value)


def number_path(path: tuple[ViewStep, ...], first: int) -> tuple[tuple[Any, ...], list[Operand]]:
    """The same for a whole path: the attrs and operands of an `update`."""
    steps: list[Any] = []
    operands: list[Operand] = []
    for kind, what in path:
        if kind == "index":
            items, more = number_items(what, first + len(operands))
            steps.append((kind, items))
            operands += more
        elif kind == "reshape":
            start = first + len(operands)
            steps.append((kind, tuple(range(start, start + len(what)))))
            operands += what
        else:
            steps.append((kind, what))
    return tuple(steps), operands
