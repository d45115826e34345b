"""Variables and the tapes that watch them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..autodiff.activity import edges
from ..autodiff.cotangents import bar_type
from ..ir.nodes import Array, Block, Custom, Function, Operand, Var, is_float, walk
from ..ir.record import field, record
from ..syntax import core
from .places import Places
from .session import Part
from .values import Cell, PyObject, Value


@record(eq=False)
class Tape:
    """A region: `block[start:end]`, still open if `end` is None.  `entry` is what each Variable
    held when it was opened, `taken` are the names that existed then.  `watched` are values by
    name, `cells` what arrays and Variables held when they were watched; `unrecorded` names what
    was computed while recording was stopped; `copies` are statements before it that give numbers
    that are watched a second name.  A tape `around` a block in plain Python began before it."""

    block: Block
    start: int
    taken: frozenset[str]
    accessed: bool = True
    end: int | None = None
    entry: dict[Cell, Var] = field(default_factory=dict)
    watched: dict[str, Operand] = field(default_factory=dict)
    cells: dict[Cell, Var] = field(default_factory=dict)
    seen: dict[Cell, None] = field(default_factory=dict)
    unrecorded: set[str] = field(default_factory=set)
    copies: Block = field(default_factory=list)
    around: bool = False
    tensors: bool = False  # it is of the `tf` namespace, and gives tensors

    @property
    def last(self) -> int:
        return len(self.block) if self.end is None else self.end


# Loops of at most this many iterations are faster if their number is known.
SMALL = 32


@record(eq=False)
class Variables(Part):
    """The Variables behind cells, and the tapes of the program."""

    places: Places
    # every tape of the program, those that are closed included
    tapes: list[Tape] = field(default_factory=list, init=False)
    # the Variables behind cells
    variables: dict[Cell, Any] = field(default_factory=dict, init=False)

    def watch(self, cell: Cell, variable: PyObject) -> None:
        """Records that the cell is the array in a Variable."""
        self.variables[cell] = variable

    def open(self, tape: Tape) -> None:
        self.tapes.append(tape)

    def holders(self) -> Iterable[object]:
        return self.tapes

    def variable_contents(self) -> dict[Cell, Var]:
        return {c: self.state.heap[c] for c in self.variables if c in self.state.heap}

    def know_small_sizes(self, type_: Array) -> None:
        """Guards the small sizes of a Variable, which never changes its shape, if it has more than
        two axes: loops over the positions of a window, or over its channels, are fast only if their
        number is known."""
        for dim in type_.shape if type_.ndim > 2 else ():
            size = self.b.facts.size_of(dim)
            if size is not None and size <= SMALL:
                self.b.facts.guard_size(dim)

    def note_access(self, cell: Cell) -> None:
        if cell in self.variables:
            for tape in self.tapes:
                if tape.end is None:
                    tape.seen[cell] = None

    def note_assignment(self, cell: Cell, old: Var) -> None:
        """Makes the value that is assigned to a Variable while a tape is open a new version of the
        Variable: its adjoint is added to that of the previous version."""
        if cell not in self.variables or all(t.end is not None for t in self.tapes):
            return
        now = self.state.heap[cell]
        if not is_float(now.type):
            return
        bar = Var(self.b.names.fresh("out_bar"), bar_type(now.type))
        rule = Function("pullback", [bar], [], [bar])
        new = Var(self.b.names.fresh(now.user or now.name), now.type, now.user)
        self.b.block.append(Custom([new], (now,), (old,), (), rule, self.b.origin))
        self.state.heap[cell] = new

    def refuse_variables_inside(self, block: Block, node: core.Node) -> None:
        """Refuses watched Variables that a function with a custom gradient reads other than as
        arguments: its gradient has no part for them."""
        if all(t.end is not None or not t.accessed for t in self.tapes):
            return
        own = {
            v.name: c for c, v in self.variable_contents().items() if self.variables[c].trainable
        }
        for stmt in walk(block):
            for (_, source), _ in edges(stmt):
                if source in own:
                    name = self.variables[own[source]].name
                    self.places.refuse(
                        node,
                        f"this function has a gradient of its own, and reads the Variable "
                        f"{name}, for which that gives none",
                        "pass the Variable as an argument",
                    )


@record(frozen=True)
class TapeVal(Value):
    tape: Tape
