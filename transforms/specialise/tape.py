"""Tapes as syntax: `with GradientTape() as tape` marks a region of the program, and
`tape.gradient(target, sources)` is the adjoint code of that region (`tape_products.py`).

Nothing is recorded.  The region is the statements emitted between the two ends of the block, a
function of whatever they read.

A Variable is an array that tapes watch by themselves.  What is assigned to it while a tape is
open is a new version of it, a constant to every derivative whose adjoint is the Variable's own.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autodiff.activity import edges
from ..autodiff.cotangents import bar_type
from ..frontend.kernel_interface import ObjectGuard
from ..ir.errors import S2SValueError
from ..ir.nodes import (
    Assign,
    Block,
    Custom,
    Function,
    Operand,
    Origin,
    Scalar,
    Stmt,
    Var,
    inner_targets_of,
    is_float,
    targets_of,
    walk,
)
from ..ir.record import field, record
from ..syntax import core
from .arrays import Arrays
from .expressions import Expressions
from .objects import Objects
from .places import Places
from .session import Part, fixed
from .shared import Lifted, LiftedVariable
from .values import Cell, Num, Obj, Ref, TupleVal, Value

# Loops of at most so many rounds gain by their number being known.
SMALL = 32


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


@record(frozen=True)
class TapeVal:
    tape: Tape


@record(eq=False)
class Tapes(Part):
    """Tapes and the Variables they watch."""

    places: Places
    arrays: Arrays
    expressions: Expressions
    objects: Objects
    # every tape of the program, those that are closed included
    tapes: list[Tape] = field(default_factory=list, init=False)
    # the Variables behind cells
    variables: dict[Cell, Any] = field(default_factory=dict, init=False)
    by_name: dict[str, Callable[..., Value]] = fixed()

    def holders(self) -> Iterable[Any]:
        return self.tapes

    # ---- the block

    def run_tapes(self, node: core.With) -> bool:
        opened = []
        for item in node.items:
            call = item.value
            assert isinstance(call, core.Call)
            names = ("persistent", "watch_accessed_variables")
            given = {**dict(zip(names, call.args)), **{k.name: k.value for k in call.keywords}}
            known = {
                n: self.expressions.static(self.expressions.eval(v), v, str(n))
                for n, v in given.items()
            }
            tape = Tape(self.b.block, len(self.b.block), frozenset(self.b.names.taken))
            tape.accessed = known.get("watch_accessed_variables", True)
            tape.around = known.get("around", False)
            if not tape.around:
                cls = self.expressions.eval(call.function)
                tape.tensors = isinstance(cls, Obj) and hasattr(cls.value, "_s2s_tensors")
            tape.entry = self._held()
            opened.append(tape)
            self.tapes.append(tape)
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
        owner = self.expressions.eval(call.function.value)
        if not isinstance(owner, TapeVal):
            self.places.refuse(
                node, "`with` is not supported here", "open resources outside the function"
            )
        tape, block = owner.tape, self.b.block
        if tape.end is not None:
            raise self.places.located(
                ValueError("tape.stop_recording() outside its `with` block"), node
            )
        before, held = set(defined(block)), self._held()
        ends = self.evaluator.run(node.body)
        tape.unrecorded |= set(defined(block)) - before
        # What was assigned meanwhile is the Variable's, whoever computed it.
        for cell, now in self._held().items():
            if cell in held and now != held[cell]:
                self.note_assignment(cell, held[cell])
        return ends

    def _held(self) -> dict[Cell, Var]:
        return {c: self.state.heap[c] for c in self.variables if c in self.state.heap}

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

    # ---- Variables

    def variable(self, value: Any, path: Any) -> Ref:
        """A Variable: the array in it, which tapes watch.  By whatever path it is reached, it
        is one."""
        for cell, known in self.variables.items():
            if known is value:
                return Ref(cell)
        watched = ObjectGuard((*path, (".", "trainable")), "equals", value.trainable)
        self.shared.object_guards.append(watched)
        array = (*path, (".", "_array"))
        ref = self.objects.lift(value._array, array)
        self.variables[ref.cell] = value
        # A caller passes the array on, and knows that it is a Variable's.
        self.objects.reached[LiftedVariable(path, value)] = self.objects.reached.pop(
            Lifted(array, None)
        )
        self._know_small_sizes(self.arrays.read(ref).type)
        return ref

    def _know_small_sizes(self, type_: Any) -> None:
        """A Variable never changes its shape, so its sizes may be relied on.  Matrices and vectors
        do without; but a loop over the places of a window, or its channels, is quick only if
        their number is known."""
        for dim in type_.shape if type_.ndim > 2 else ():
            size = self.b.facts.size_of(dim)
            if size is not None and size <= SMALL:
                self.b.facts.guard_size(dim)

    def part_of_variable(self, view: Ref, value: Var) -> Ref:
        """What was read of a Variable stays as it is when the Variable changes."""
        self.note_access(view.cell)
        part = self.arrays.new_array(value)
        part.cell.readonly, part.cell.tensor = True, self.arrays.is_tensor(view)
        return part

    def note_access(self, cell: Cell) -> None:
        if cell in self.variables:
            for tape in self.tapes:
                if tape.end is None:
                    tape.seen[cell] = None

    def assign_variable(self, ref: Ref, value: Value, node: core.Node, add: int = 0) -> Value:
        """`assign`, `assign_add` (1) and `assign_sub` (-1)."""
        if not isinstance(value, (Num, Ref)):
            value = self.evaluator.call(Obj(np.asarray), (value,), {}, node)
        old, new = self.arrays.sym(ref), self.arrays.sym(value)
        name = self.variables[ref.cell].name
        with self.evaluator.calls.guarding(node):
            new = old + new if add > 0 else old - new if add < 0 else new
            if new.ndim != old.ndim:
                text = f"{name} has {old.ndim} dimensions, and the new value {new.ndim}"
                raise self.places.located(ValueError(text), node)
            for a, b in zip(old.shape, new.shape):
                if self.b.facts.relate(*(x.type.value for x in (a, b))) != "equal":
                    self.b.check(a == b, "ValueError", f"{name} and its new value differ in shape")
            self.arrays.write(ref, (), new, node)
        return ref

    def note_assignment(self, cell: Cell, old: Var) -> None:
        """What a Variable is given while a tape is open is a new version of it, which passes its
        adjoint on to the one before."""
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
        """A function with a gradient of its own has none by Variables that it reads by itself,
        although tapes watch them."""
        if all(t.end is not None or not t.accessed for t in self.tapes):
            return
        own = {v.name: c for c, v in self._held().items() if self.variables[c].trainable}
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

    # ---- methods

    def tape_method(self, owner: TapeVal, name: str, args: Any, kwargs: Any, node: Any) -> Value:
        tape = owner.tape
        if name in ("gradient", "jacobian", "batch_jacobian"):
            return self.by_name[name](tape, args, kwargs, node)
        if name == "watch":
            for value in (*args, *kwargs.values()):
                self._watch_all(tape, value, node)
            return Obj(None)
        if name == "watched_variables":
            seen = [c for c in tape.seen if tape.accessed and self.variables[c].trainable]
            asked = [c for c in tape.cells if c in self.variables]
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

    def _reset(self, tape: Tape, node: Any) -> None:
        if tape.end is not None:
            raise self.places.located(ValueError("tape.reset() outside its `with` block"), node)
        if tape.block is not self.b.block:
            self.places.refuse(
                node, "tape.reset() in a branch or loop of its block", "reset it before"
            )
        tape.start, tape.taken = len(tape.block), frozenset(self.b.names.taken)
        for known in (tape.watched, tape.cells, tape.seen, tape.unrecorded, tape.copies):
            known.clear()
        tape.entry = self._held()

    def _watch_all(self, tape: Tape, value: Value, node: Any) -> None:
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
        packer = self.evaluator.derived.packer(node)
        packer.pack(value)
        for leaf in packer.leaves:
            cell = leaf.cell if isinstance(leaf, Ref) and not leaf.path else None
            x = self.arrays.read(leaf) if isinstance(leaf, Ref) else leaf.operand
            if not is_float(x.type):
                self._warn(f"the tape watches floats, not {x.type.dtype}: the gradient is None")
            elif cell is not None and cell in self.variables:
                if not (tape.accessed and self.variables[cell].trainable):
                    self._refuse_late(tape, tape.entry.get(cell) or cell.param, node)
                    tape.cells.setdefault(cell, x)
            else:
                first = self.first_name(x)
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
        return [s for s in found if self.first_name(s.target) == x]

    def _refuse_late(self, tape: Tape, x: Var | None, node: Any) -> None:
        """What was computed from a value before it was watched would not count."""
        assert x is not None
        flows = (source for stmt in walk(self.region(tape)) for source, _ in edges(stmt))
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

    def unconnected_choice(self, given: dict[str, Value], node: Any) -> str:
        value = given.get("unconnected_gradients", Obj("none"))
        chosen = self.expressions.static(value, node, "unconnected_gradients")
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
