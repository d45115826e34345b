"""Tapes as syntax: `with GradientTape() as tape` marks a region of the program, and
`tape.gradient(target, sources)` is the adjoint code of that region (`tape_products.py`).

Nothing is recorded.  The region is the statements emitted between the two ends of the block, a
function of whatever they read.

A Variable is an array that tapes watch by themselves.  What is assigned to it while a tape is
open is a new version of it, a constant to every derivative whose adjoint is the Variable's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.errors import S2SValueError
from ...ir.nodes import (
    Block,
    Function,
    Operand,
    Origin,
    Scalar,
    Stmt,
    Var,
    inner_targets_of,
    targets_of,
    walk,
)
from ...ir.record import field, record
from ...syntax import core
from ..heap.arrays import Arrays
from ..places import Places
from ..session import Part
from ..values import Obj, Value
from ..variables import Tape, TapeVal, Variables


@record(frozen=True)
class Unconnected:
    """A source on which the target of a gradient does not depend: `text` is the user's for it.
    `why` says so where it is known; otherwise it is to be found between `source` and the
    results of `function`."""

    text: str
    origin: Origin | None
    why: str
    function: Function = field(compare=False)
    source: Var | None = field(compare=False)


@record(eq=False)
class Tapes(Part):
    """Tapes and the Variables they watch."""

    places: Places
    variables: Variables
    arrays: Arrays

    # ---- the block

    def run_tapes(self, node: core.With) -> bool:
        opened = []
        for item in node.items:
            call = item.value
            assert isinstance(call, core.Call)
            names = ("persistent", "watch_accessed_variables")
            given = {**dict(zip(names, call.args)), **{k.name: k.value for k in call.keywords}}
            known = {
                n: self.arrays.static(self.evaluator.eval(v), v, str(n)) for n, v in given.items()
            }
            tape = Tape(self.b.block, len(self.b.block), frozenset(self.b.names.taken))
            tape.accessed = known.get("watch_accessed_variables", True)
            tape.around = known.get("around", False)
            if not tape.around:
                cls = self.evaluator.eval(call.function)
                tape.tensors = isinstance(cls, Obj) and hasattr(cls.value, "_s2s_tensors")
            tape.entry = self.variables.variable_contents()
            opened.append(tape)
            self.variables.open(tape)
            if item.target is not None:
                self.evaluator.bind(item.target, TapeVal(tape), node)
        try:
            return self.evaluator.run(node.body)
        finally:
            for tape in opened:
                tape.end = len(tape.block)

    def run_pause(self, node: core.With) -> bool:
        """`with tape.stop_recording():`"""
        call = node.items[0].value
        assert isinstance(call, core.Call) and isinstance(call.function, core.Attr)
        owner = self.evaluator.eval(call.function.value)
        if not isinstance(owner, TapeVal):
            self.places.refuse(
                node, "`with` is not supported here", "open resources outside the function"
            )
        tape, block = owner.tape, self.b.block
        if tape.end is not None:
            raise self.places.located(
                ValueError("tape.stop_recording() outside its `with` block"), node
            )
        before, held = set(defined(block)), self.variables.variable_contents()
        ends = self.evaluator.run(node.body)
        tape.unrecorded |= set(defined(block)) - before
        # A value that was assigned in the block counts as the Variable's, although it is not
        # recorded.
        for cell, now in self.variables.variable_contents().items():
            if cell in held and now != held[cell]:
                self.variables.note_assignment(cell, held[cell])
        return ends

    def region(self, tape: Tape) -> Block:
        """What has been computed in the tape's block on the way to the present place."""
        if tape.end is not None:
            return [*tape.copies, *tape.block[tape.start : tape.end]]
        blocks = [*self.b.around, self.b.block]
        inner = next(i for i, block in enumerate(blocks) if block is tape.block) + 1
        rest = (s for block in blocks[inner:] for s in block)
        return [*tape.copies, *tape.block[tape.start :], *rest]

    def first_name(self, x: Operand) -> Operand:
        """A number that was given a second name (`z = x`) under its first."""
        while isinstance(x, Var) and isinstance(x.type, Scalar):
            op = self.b.definitions.get(x.name)
            if op is None or op.name != "copy":
                break
            x = op.args[0]
        return x

    def in_reach(self, tape: Tape) -> bool:
        """Whether the tape's block is one of those around the present place."""
        return any(block is tape.block for block in (*self.b.around, self.b.block))

    # ---- methods

    def unconnected_choice(self, given: dict[str, Value], node: core.Node) -> str:
        value = given.get("unconnected_gradients", Obj("none"))
        chosen = self.arrays.static(value, node, "unconnected_gradients")
        choice = str(getattr(chosen, "value", chosen)).lower()
        if choice not in ("none", "zero"):
            raise self.places.refusal(
                node,
                f"unconnected_gradients is 'none' or 'zero', not {chosen!r}",
                "",
                S2SValueError,
            )
        return choice


def defined(block: Block) -> Iterator[str]:
    """The names that a block defines, those of nested blocks included."""
    for stmt in walk(block):
        yield from (v.name for v in (*targets_of(stmt), *inner_targets_of(stmt)))


def defining(blocks: list[Block], name: str) -> Stmt | None:
    """The statement that defines a name."""
    for block in blocks:
        for stmt in walk(block):
            if any(v.name == name for v in targets_of(stmt)):
                return stmt
    return None
