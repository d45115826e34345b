"""Tapes as syntax: `with GradientTape() as tape` marks a region of the program, and
`tape.gradient(target, sources)` is the adjoint code of that region.

Nothing is recorded.  The region is the statements emitted between the two ends of the block, a
function of whatever they read; reverse mode turns it into a forward part, which takes the
region's place, and a sweep, which stands where the gradient is asked for.

A Variable is an array that tapes watch by themselves.  What is assigned to it within a region
is not differentiated; its gradient sums over all its versions there.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from ..activity import activity
from ..build import Builder
from ..ir import Block, Function, Operand, Origin, Var, is_float, targets_of
from .derived import Traced
from .patterns import Leaf, leaves_of
from .values import Cell, Mixin, Obj, Ref, State, TupleVal, Value


@dataclass(eq=False)
class Tape:
    """A region: `block[start:end]`, still open if `end` is None.  `entry` is what each Variable
    held when it was opened, `assigned` what it was given since."""

    block: Block
    start: int
    depth: int
    accessed: bool = True
    end: int | None = None
    lost: bool = False
    entry: dict[Cell, Var] = field(default_factory=dict)
    assigned: dict[Cell, list[Var]] = field(default_factory=dict)
    watched: dict[str, Operand] = field(default_factory=dict)
    seen: list[Cell] = field(default_factory=list)

    @property
    def last(self) -> int:
        return len(self.block) if self.end is None else self.end


@dataclass(frozen=True)
class Unconnected:
    """A source on which the target of a gradient does not depend, as far as the values `versions`
    of it tell: `text` is the user's for it.  There are none if the tape does not watch it."""

    text: str
    origin: Origin | None
    function: Function = field(compare=False)
    versions: tuple[Var, ...] = field(compare=False)


@dataclass(frozen=True)
class TapeVal:
    tape: Tape


class Tapes(Mixin):
    """Mixed into the specialiser."""

    b: Builder
    state: State
    runtime_depth: int
    tapes: list[Tape]  # every tape of the program, those that are closed included
    variables: dict[Cell, Any]  # the Variables behind cells

    # ---- the block

    def run_tapes(self, node: ast.With) -> None:
        opened = []
        for item in node.items:
            call = item.context_expr
            assert isinstance(call, ast.Call)
            named = {k.arg: self.static(self.eval(k.value), k.value, "this") for k in call.keywords}
            tape = Tape(self.b.block, len(self.b.block), self.runtime_depth)
            tape.accessed = named.get("watch_accessed_variables", True)
            tape.entry = {c: self.state.heap[c] for c in self.variables if c in self.state.heap}
            opened.append(tape)
            self.tapes.append(tape)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, TapeVal(tape), node)
        self.run(node.body)
        for tape in reversed(opened):
            tape.end = len(tape.block)

    def open_tapes(self) -> list[Tape]:
        return [t for t in self.tapes if t.end is None]

    # ---- Variables

    def variable(self, value: Any, path: Any) -> Ref:
        """A Variable: the array in it, which tapes watch.  By whatever path it is reached, it
        is one."""
        for cell, known in self.variables.items():
            if known is value:
                return Ref(cell)
        ref = self.lift(value._array, (*path, (".", "_array")))
        self.variables[ref.cell] = value
        return ref

    def assign_variable(self, ref: Ref, value: Value, node: ast.AST, add: int = 0) -> Value:
        """`assign`, `assign_add` (1) and `assign_sub` (-1)."""
        old, new = self.sym(ref), self.sym(value)
        if new.ndim != old.ndim:
            name = self.variables[ref.cell].name
            raise self.located(
                ValueError(f"{name} has {old.ndim} dimensions, and the new value {new.ndim}"), node
            )
        with self.guarding(node):
            self.write(ref, (), old + new if add > 0 else old - new if add < 0 else new, node)
            self.note_assignment(ref.cell, node)
        return ref

    def note_assignment(self, cell: Cell, node: ast.AST) -> None:
        """What a Variable is given while a tape is open is a new source, not a result."""
        tapes = self.open_tapes()
        if cell not in self.variables or not tapes:
            return
        if any(t.depth != self.runtime_depth for t in tapes):
            self.refuse(
                node, "a Variable is assigned in a branch or loop of an open tape",
                "assign it after the tape",
            )  # fmt: skip
        new = self.b.emit("stop_gradient", self.state.heap[cell]).operand
        assert isinstance(new, Var)
        self.state.heap[cell] = new
        for tape in tapes:
            tape.assigned.setdefault(cell, []).append(new)

    # ---- methods

    def tape_method(self, owner: TapeVal, name: str, args: Any, kwargs: Any, node: Any) -> Value:
        tape = owner.tape
        if name == "gradient":
            return self._gradient(tape, args, kwargs, node)
        if name == "watch":
            for value in args:
                self._watch_all(tape, value, node)
            return Obj(None)
        if name == "watched_variables":
            seen = [c for c in self.variables if c in self.state.heap]
            return TupleVal(tuple(Ref(c) for c in seen if self.variables[c].trainable))
        if name == "reset":
            if tape.end is not None:
                raise self.located(ValueError("tape.reset() outside its `with` block"), node)
            tape.start = len(tape.block)
            tape.watched.clear()
            tape.assigned.clear()
            tape.entry = {c: self.state.heap[c] for c in self.variables}
            return Obj(None)
        return self.refuse(node, f"tape.{name} is not supported yet", "use tape.gradient")

    def _watch_all(self, tape: Tape, value: Value, node: Any) -> None:
        _, leaves = self._leaves(value, node)
        tape.watched.update((x.name, x) for x in leaves if isinstance(x, Var))

    # ---- gradient

    def _gradient(self, tape: Tape, args: Any, kwargs: Any, node: Any) -> Value:
        names = ("target", "sources", "output_gradients", "unconnected_gradients")
        given = {**dict(zip(names, args)), **kwargs}
        if tape.block is not self.b.block or tape.depth != self.runtime_depth:
            self.refuse(
                node, "this gradient is asked for in another branch, loop or function than its "
                "tape", "call tape.gradient where the `with` block stands",
            )  # fmt: skip
        if tape.lost:
            self.refuse(
                node, "the gradient of an inner tape is asked for after that of an outer one",
                "ask the inner tape first",
            )  # fmt: skip
        first, last = tape.start, tape.last
        region = tape.block[first:last]
        bound = {v.name for stmt in region for v in targets_of(stmt)}
        outs, seeds = self._targets(given, bound, node)
        pattern, sources, packed = self._sources(tape, given["sources"], bound, node)
        wanted = [v for versions in sources for v in versions]
        free = [v for v in wanted if v.name not in bound]
        inner = tuple(v.name for v in wanted if v.name in bound)
        function = self._function(Traced(region, [], [], free, None), outs)
        reach = activity(function, [v.name for v in wanted], outs)
        bars = self._swept(tape, last, function, free, inner, outs, seeds)
        zero = self._unconnected(given, node) == "zero"
        values: dict[int, Value] = {}
        for leaf, versions in zip(leaves_of(pattern), sources):
            parts = [bars[v.name] for v in versions if v in reach and v.name in bars]
            if parts:
                total = self.b.sym(parts[0])
                for part in parts[1:]:
                    total = total + part
                values[leaf.index] = self.wrap_operand(total.operand)
            elif zero:
                like = self.sym(packed[leaf.index])
                zeros = self.b.emit("zeros_like", like, dtype=like.dtype)
                values[leaf.index] = self.wrap_operand(zeros.operand)
            else:
                values[leaf.index] = Obj(None)
            if not parts:
                text = _source_text(node, leaf.index, len(sources))
                lost = Unconnected(text, self.origin(node), function, tuple(versions))
                self.shared.unconnected[lost] = None
        return self.filled(pattern, values, "gradient")

    def _unconnected(self, given: dict[str, Value], node: Any) -> str:
        value = given.get("unconnected_gradients", Obj(None))
        chosen = self.static(value, node, "unconnected_gradients")
        return str(getattr(chosen, "value", chosen)).lower()

    def _targets(
        self, given: dict[str, Value], bound: set[str], node: Any
    ) -> tuple[list[Operand], list[Operand]]:
        """What is differentiated, and the adjoints it is given."""
        pattern, outs = self._leaves(given["target"], node)
        seeds = given.get("output_gradients")
        if seeds is None or (isinstance(seeds, Obj) and seeds.value is None):
            ones = [
                self.b.emit("full_like", x, 1.0, dtype=x.type.dtype).operand if is_float(x.type)
                else x
                for x in outs
            ]  # fmt: skip
        else:
            ones = self.matched(seeds, pattern, outs, node, "output_gradients")
        pairs = [(o, s) for o, s in zip(outs, ones) if is_float(o.type)]
        return [o for o, _ in pairs], [s for _, s in pairs]

    def _sources(
        self, tape: Tape, sources: Value, bound: set[str], node: Any
    ) -> tuple[Any, list[list[Var]], list[Any]]:
        """The structure of the sources, for each the values that count as it, and itself."""
        packer = self.packer(node)
        pattern = packer.pack(sources)
        found: list[list[Var]] = []
        for leaf in leaves_of(pattern):
            assert isinstance(leaf, Leaf)
            value = packer.leaves[leaf.index]
            if isinstance(value, Ref) and value.cell in self.variables and not value.path:
                found.append(self._versions(tape, value.cell))
                continue
            x = self.read(value) if isinstance(value, Ref) else value.operand
            counts = isinstance(x, Var) and (x.name in bound or x.name in tape.watched)
            found.append([x] if counts and is_float(x.type) else [])
        return pattern, found, packer.leaves

    def _versions(self, tape: Tape, cell: Cell) -> list[Var]:
        entry = tape.entry.get(cell) or cell.param
        if entry is None or not is_float(entry.type):
            return []
        trainable = tape.accessed and self.variables[cell].trainable
        if not trainable and entry.name not in tape.watched:
            return []
        return [entry, *tape.assigned.get(cell, ())]

    def _swept(
        self,
        tape: Tape,
        last: int,
        function: Function,
        free: list[Var],
        inner: tuple[str, ...],
        outs: list[Operand],
        seeds: list[Operand],
    ) -> dict[str, Operand]:
        """Puts forward part and sweep into the program; the adjoints by name."""
        wrt = tuple(dict.fromkeys(v.name for v in free))
        made = self.reverse_of(function, wrt, inner)
        split = made.notes["forward"]
        grown = split - (last - tape.start)
        tape.block[tape.start : last] = made.body[:split]
        for other in self.tapes:
            if other.block is not tape.block:
                continue
            if tape.start < other.start < last:
                other.lost = True  # where its region begins now is not known any more
            if other.end is not None and other.end >= last:
                other.end += grown
        self._name_again(zip(made.params[len(function.params) :], seeds))
        self.b.block += made.body[split:]
        return dict(zip((*wrt, *inner), made.results))


def _source_text(node: Any, index: int, count: int) -> str:
    """The user's text for one of the sources in a call of `gradient`."""
    named = [k.value for k in node.keywords if k.arg == "sources"]
    sources = named[0] if named else node.args[1]
    if isinstance(sources, (ast.List, ast.Tuple)) and len(sources.elts) == count:
        return ast.unparse(sources.elts[index])
    return ast.unparse(sources) if count == 1 else f"{ast.unparse(sources)}[{index}]"
