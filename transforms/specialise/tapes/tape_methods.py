"""The methods of tapes."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ...autodiff.activity import edges
from ...ir.nodes import Assign, Block, Var, is_float, walk
from ...ir.record import record
from ...syntax import core
from ..derivatives.tracing import Tracing
from ..dispatch import table
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part, fixed
from ..values import Args, Kwargs, Obj, Ref, TupleVal, Value
from ..variables import Tape, TapeVal, Variables
from .tape import Tapes
from .tape_products import TapeProducts


@record(eq=False)
class TapeMethods(Part):
    """The methods of tapes."""

    tape_products: TapeProducts
    places: Places
    variables: Variables
    arrays: Arrays
    tracing: Tracing
    tape: Tapes
    by_name: dict[str, Callable[..., Value]] = fixed()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.by_name = table("answers", self.tape_products)

    def tape_method(
        self, owner: TapeVal, name: str, args: Args, kwargs: Kwargs, node: core.Node
    ) -> Value:
        tape = owner.tape
        if name in ("gradient", "jacobian", "batch_jacobian"):
            return self.by_name[name](tape, args, kwargs, node)
        if name == "watch":
            for value in (*args, *kwargs.values()):
                self._watch_all(tape, value, node)
            return Obj(None)
        if name == "watched_variables":
            seen = [c for c in tape.seen if tape.accessed and self.variables.variables[c].trainable]
            asked = [c for c in tape.cells if c in self.variables.variables]
            return TupleVal(tuple(Ref(c) for c in dict.fromkeys([*seen, *asked])))
        if name == "reset":
            self._reset(tape, node)
            return Obj(None)
        return self.places.refuse(
            node,
            f"tapes have no {name}",
            "they have gradient, jacobian, batch_jacobian, watch, watched_variables, reset and "
            "stop_recording",
        )

    def _reset(self, tape: Tape, node: core.Node) -> None:
        if tape.end is not None:
            raise self.places.located(ValueError("tape.reset() outside its `with` block"), node)
        if tape.block is not self.b.block:
            self.places.refuse(
                node, "tape.reset() in a branch or loop of its block", "reset it before"
            )
        tape.start, tape.taken = len(tape.block), frozenset(self.b.names.taken)
        for known in (tape.watched, tape.cells, tape.seen, tape.unrecorded, tape.copies):
            known.clear()
        tape.entry = self.variables.variable_contents()

    def _watch_all(self, tape: Tape, value: Value, node: core.Node) -> None:
        if tape.end is not None:
            raise self.places.located(
                ValueError("tape.watch outside of the tape's `with` block"), node
            )
        if tape.block is not self.b.block:
            self.places.refuse(
                node,
                "tape.watch in a branch or loop of its block: whether the gradient is None "
                "would depend on the run",
                "watch it at the start of the block",
            )
        packer = self.tracing.packer(node)
        packer.pack(value)
        for leaf in packer.leaves:
            cell = leaf.cell if isinstance(leaf, Ref) and not leaf.path else None
            x = self.arrays.read(leaf) if isinstance(leaf, Ref) else leaf.operand
            if not is_float(x.type):
                self._warn(f"the tape watches floats, not {x.type.dtype}: the gradient is None")
            elif cell is not None and cell in self.variables.variables:
                if not (tape.accessed and self.variables.variables[cell].trainable):
                    self._refuse_late(tape, tape.entry.get(cell) or cell.param, node)
                    assert isinstance(x, Var)
                    tape.cells.setdefault(cell, x)
            else:
                first = self.tape.first_name(x)
                if isinstance(first, Var) and first.name not in tape.watched:
                    self._refuse_late(tape, first, node)
                    tape.watched[first.name] = first
                    tape.copies += self._copies_of(first, tape)
                    if cell is not None:
                        tape.cells.setdefault(cell, first)

    def _copies_of(self, x: Var, tape: Tape) -> Block:
        """The statements before the tape's region that give a number a second name."""
        before = [*(s for block in self.b.around for s in block), *tape.block[: tape.start]]
        found = (s for s in before if isinstance(s, Assign) and s.op.name == "copy")
        return [s for s in found if self.tape.first_name(s.target) == x]

    def _refuse_late(self, tape: Tape, x: Var | None, node: core.Node) -> None:
        """What was computed from a value before it was watched would not count."""
        assert x is not None
        flows = (source for stmt in walk(self.tape.region(tape)) for source, _ in edges(stmt))
        if ("value", x.name) in flows:
            self.places.refuse(
                node,
                f"{x.user or 'this value'} is watched after it was used in the tape's block",
                "watch it at the start of the block",
            )

    def _warn(self, text: str) -> None:
        """A tape in plain Python has warned when its block ran."""
        if not self.shared.replayed:
            warnings.warn(text, stacklevel=2)
